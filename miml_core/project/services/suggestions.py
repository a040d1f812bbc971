"""Suggested tags of the bags of a project."""

from __future__ import annotations

from miml_core.project.review_records import BagSuggestions
from miml_core.project.services.service import Service
from miml_core.project.suggestions.suggest import is_available, suggest


class Suggestions(Service):
    """`project.suggestions`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     found = project.suggestions.of_bag(2)
    >>> [one.name for one in found.items if one.by_run is not None and one.by_run > 0.5]
    ['Wren']
    """

    def of_bag(self, bag_id: int) -> BagSuggestions:
        """Return the suggested tags of a bag, the likeliest first, also those that somebody has decided on.

        The current run's probability counts for the classes it was trained on; BirdNET's score for the other classes,
        found by their names, and for species that are no class yet. BirdNET analyses a bag when this is first called
        for it (about half a second for 10 s); its scores are kept in the project's cache.
        """
        return suggest(self._store, bag_id)

    def available(self) -> bool:
        """Return whether there can be suggestions: there is a run, or sound that BirdNET supports, or none yet."""
        return is_available(self._store)
