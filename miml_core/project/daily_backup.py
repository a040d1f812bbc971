"""The backup made once per day while somebody works in a project, in the background."""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import text

from miml_core.errors import BagtagError
from miml_core.project import backups

if TYPE_CHECKING:
    from miml_core.project.store import Store

RETRY_S = 600.0
"""How long to wait after a backup that failed, and in a new project, which has nothing to keep yet."""

_log = logging.getLogger("bagtag.backup")
_CLAIM = text(
    "INSERT INTO meta (key, value) VALUES ('daily_backup', :until) ON CONFLICT (key) DO UPDATE SET value = :until "
    "WHERE CAST(value AS REAL) < :now OR CAST(value AS REAL) > :until"
)


class DailyBackup:
    """Starts a backup after the first write of each day; at most one of all processes makes it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due = 0.0
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def postpone(self) -> None:
        """Make none for a while: the project is new, or was backed up just now."""
        self._due = time.time() + RETRY_S

    def after_write(self) -> None:
        """Start the backup if none was made today; costs a look at the clock otherwise."""
        now = time.time()
        if now < self._due:
            return
        with self._guard:
            if now < self._due:
                return
            self._due = now + RETRY_S
            thread = threading.Thread(target=self._make, name="daily backup", daemon=True)
            with suppress(RuntimeError):  # no thread can be started: another time
                thread.start()
                self._thread = thread

    def wait(self) -> None:
        """Wait for a backup that is being made."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _make(self) -> None:
        try:
            path = backups.daily_path(self._store.folder)
            if not path.exists():
                if not self._claim():
                    return
                backups.make_folder(self._store.folder)
                self._store.copy_to(path, gentle=True)
                backups.prune(self._store.folder)
            midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
            self._due = midnight.timestamp()
        except (BagtagError, OSError) as error:
            _log.warning("The daily backup was not made and is tried again later: %s", error)
        except Exception:
            _log.exception("The daily backup was not made and is tried again later")

    def _claim(self) -> bool:
        """Reserve the next minutes for this process, in the project itself, where all processes see it."""
        now = time.time()
        with self._store.write() as connection:
            claimed = connection.execute(_CLAIM, {"until": json.dumps(now + RETRY_S / 2), "now": now})
            return claimed.rowcount > 0
