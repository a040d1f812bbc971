"""Migrate the tables of older projects with Alembic.

Tables are only made by migrations: a new project runs all of them. `LATEST` is known without importing Alembic, so that
opening an up-to-date project is quick.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from miml_core.errors import BagtagError
from miml_core.project.db import backups
from miml_core.project.errors import ProjectTooNew

SCRIPTS = Path(__file__).parent / "migrations"
LATEST = "0005"


def version(connection: Connection) -> str | None:
    """Return the last migration that was applied to this database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def is_outdated(connection: Connection, folder: Path) -> bool:
    """Return whether the project has to be migrated; raises `ProjectTooNew` if a newer Bagtag made it."""
    found = version(connection)
    if found == LATEST:
        return False
    if found is None:
        advice = backups.advice(folder) or " Delete it and create the project again."
        raise BagtagError(f"The database in {str(folder)!r} is incomplete: it was never finished.{advice}")
    if found > LATEST:
        raise ProjectTooNew(
            f"The project in {str(folder)!r} was made by a newer Bagtag (format {found}; this one reads {LATEST}). "
            "Update Bagtag to open it."
        )
    return True


def upgrade(connection: Connection) -> None:
    """Run the missing migrations inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
