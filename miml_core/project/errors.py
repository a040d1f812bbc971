"""Errors of projects that callers distinguish; each message is a sentence for people."""

from miml_core.errors import BagtagError


class ProjectTooNew(BagtagError):
    """The project was last opened by a newer Bagtag."""


class Gone(BagtagError):
    """The bag, segment, class or job named does not exist, or no longer exists."""


class NeedsConfirmation(BagtagError):
    """The edit would remove work of a person; call it again with `confirm=True` if that is intended."""


class BadEdit(BagtagError):
    """A field of an edit is missing or of another type: an error in the program that made the edit."""


class CannotUndo(BagtagError):
    """A later edit depends on this one, or there is nothing to undo."""


class Busy(BagtagError):
    """Another program has locked the database for too long."""


class NotSaved(Busy):
    """The disk is full or fails: nothing of the edit was stored; trying again later may succeed."""


class ProjectMoved(NotSaved):
    """The database at the project's path is no longer the one that is open: it was deleted, replaced or moved."""


class Cancelled(Exception):
    """Raised inside a job when a person asked it to stop."""
