"""The refusals a caller may want to tell apart; all are sentences for people."""

from miml_core.errors import BagtagError


class ProjectTooNew(BagtagError):
    """The project was last opened by a newer Bagtag."""


class Gone(BagtagError):
    """The bag, segment, class or job named does not exist (any more)."""


class NeedsConfirmation(BagtagError):
    """The act would take something of a person's work with it; repeat it with `confirm=True` if that is meant."""


class BadAct(BagtagError):
    """An act's arguments are missing or of the wrong type: a fault of the program that asked for it."""


class CannotUndo(BagtagError):
    """Later acts stand on this one, or there is nothing to undo."""


class Busy(BagtagError):
    """Another program kept the project to itself for longer than is polite."""


class NotSaved(Busy):
    """The disk is full or fails: nothing of the act was stored, and it is worth trying again when that is mended."""


class ProjectMoved(NotSaved):
    """The database at the project's path is no longer the one that is open: it was deleted, replaced or moved."""


class Cancelled(Exception):
    """Raised inside a job when a person asked it to stop."""
