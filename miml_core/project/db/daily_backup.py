"""Back up a project once per day in the background, while it is used."""

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
from miml_core.project.db import backups

if TYPE_CHECKING:
    from miml_core.project.db.store import Store

RETRY_S = 600.0
"""How long to wait after a backup that failed, and in a new project, which is still empty."""

_log = logging.getLogger("bagtag.backup")
_CLAIM = text(
    "INSERT INTO meta (key, value) VALUES ('daily_backup', :until) ON CONFLICT (key) DO UPDATE SET value = :until "
    "WHERE CAST(value AS REAL) < :now OR CAST(value AS REAL) > :until"
)


class DailyBackup:
    """Start a backup after the first write of each day; at most one process makes it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due = 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def postpone(self) -> None:
        """Make no backup for `RETRY_S`: the project is new, or was backed up just now."""
        self._due = time.time() + RETRY_S

    def after_write(self) -> None:
        """Start the backup if none was made today; otherwise only read the clock."""
        now = time.time()
        if now < self._due:
            return
        with self._lock:
            if now < self._due:
                return
            self._due = now + RETRY_S
            thread = threading.Thread(target=self._make, name="daily backup", daemon=True)
            with suppress(RuntimeError):  # no thread can be started: try later
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
            _log.warning("The daily backup failed and will be tried again: %s", error)
        except Exception:
            _log.exception("The daily backup failed and will be tried again")

    def _claim(self) -> bool:
        """Reserve the next minutes for this process, in the database, where all processes see it."""
        now = time.time()
        with self._store.write() as connection:
            claimed = connection.execute(_CLAIM, {"until": json.dumps(now + RETRY_S / 2), "now": now})
            return claimed.rowcount > 0
