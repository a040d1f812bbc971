"""Events of a project.

The modules that change rows publish what changed. Counters, the review index, feature blocks and predictions are
computed from these rows; they subscribe in `subscriptions.py`, so that an edit does not depend on them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from miml_core.project.db.store import Store


@dataclass(frozen=True)
class BagsChanged:
    """Rows of some bags changed, in a transaction that is not committed yet."""

    connection: Connection
    bag_ids: list[int]
    tables: frozenset[str] = frozenset()
    """The tables with changed rows."""
    reshaped: list[int] = field(default_factory=list)
    """Ids of segments with another outline."""
    classes_joined: bool = False
    """Whether classes were merged, removed or restored."""
    run_chosen: bool = False
    """Whether another run is the current one."""


@dataclass(frozen=True)
class EditStored:
    """An edit was committed."""

    store: Store
    bag_ids: list[int]
    bags_to_predict: list[int]
    """Those whose predictions depend on it."""


Event = TypeVar("Event", BagsChanged, EditStored)

_subscribers: dict[type, list[Callable[[Any], None]]] = defaultdict(list)


def subscribe(event: type[Event], handler: Callable[[Event], None]) -> None:
    """Call `handler` with every event of a type; handlers run in the order in which they subscribed."""
    if handler not in _subscribers[event]:
        _subscribers[event].append(handler)


def publish(event: BagsChanged | EditStored) -> None:
    """Pass an event to its subscribers."""
    for handler in _subscribers[type(event)]:
        handler(event)
