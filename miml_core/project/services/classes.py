"""The classes of a project."""

from __future__ import annotations

import builtins

from miml_core.project.queries import classes
from miml_core.project.records import Class
from miml_core.project.services.service import Service


class Classes(Service):
    """`project.classes`; they are changed by `project.edits`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     names = [one.name for one in project.classes.list()]
    ...     robin = project.classes.find("ROBIN")
    >>> names, robin.id
    (['Wren', 'Robin'], 2)
    """

    def list(self) -> builtins.list[Class]:
        """Return all classes in the order in which they were added, with how often they are used."""
        with self._store.read() as connection:
            return classes.all_classes(connection)

    def find(self, name: str) -> Class | None:
        """Return the class of this name or scientific name, ignoring case."""
        with self._store.read() as connection:
            return classes.find_class(connection, name)
