"""`Service`: what the services of a project have in common."""

from __future__ import annotations

from miml_core.project.db.store import Store


class Service:
    """A group of methods of a project.

    Parameters
    ----------
    store : Store
        The open project folder.
    annotator : str
        Who edits, unless a method is given another name.
    """

    def __init__(self, store: Store, annotator: str = "") -> None:
        self._store = store
        self._annotator = annotator

    def _name_or_own(self, annotator: str | None) -> str:
        return self._annotator if annotator is None else annotator
