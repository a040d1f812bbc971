"""Have a file that is asked for while its page runs again delivered.

Works around a fault of Streamlit 1.67: a `download_button` whose content is made on a click
(https://github.com/streamlit/streamlit/pull/12942) has a new id in every run, and
`MediaFileManager._remove_orphaned_deferred_callables` forgets the one before as soon as any run of any tab ends. Until
the browser has drawn the new button, a click asks for the old id and fails ("Deferred file ... not found"): one that
follows a changed filter at once, or any on a busy computer. Files whose content is known already are kept for one more
run (`mark_for_delete`). Here content that is made on a click can still be asked for some time later.

Without this, `tests/pages/test_kept_downloads.py` fails. It can go when that passes without it.
"""

from __future__ import annotations

import time

from streamlit.runtime.media_file_manager import MediaFileManager

KEPT_S = 30.0
_replaced_at: dict[str, float] = {}
"""When a run that did not draw the button any more had ended, by the id of its file."""


def keep_downloads() -> None:
    """Have what a click makes forgotten only some time after its button was drawn again."""
    MediaFileManager._remove_orphaned_deferred_callables = _remove_old  # type: ignore[method-assign]


def _remove_old(self: MediaFileManager) -> None:
    now = time.monotonic()
    active = {file for files in self._files_by_session_and_coord.values() for file in files.values()}
    for file in list(self._deferred_callables):
        if file in active:
            _replaced_at.pop(file, None)
        elif now - _replaced_at.setdefault(file, now) > KEPT_S:
            self._drop_deferred_id(file)
    for file in _replaced_at.keys() - self._deferred_callables.keys():
        del _replaced_at[file]
