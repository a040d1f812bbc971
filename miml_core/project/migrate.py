"""Bringing the tables of an older project up to date, with Alembic, from inside the package.

The migrations are the only description by which tables are made: a new project runs them all. `LATEST` is known
without importing Alembic, so that opening an up-to-date project stays quick.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from miml_core.errors import BagtagError
from miml_core.project import backups
from miml_core.project.errors import ProjectTooNew

SCRIPTS = Path(__file__).parent / "migrations"
LATEST = "0001"


def version(connection: Connection) -> str | None:
    """The last migration this database has seen."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def is_outdated(connection: Connection, folder: Path) -> bool:
    """Does the project need migrating? Raises `ProjectTooNew` when this Bagtag is the one that is outdated."""
    found = version(connection)
    if found == LATEST:
        return False
    if found is None:
        advice = backups.advice(folder) or " Delete it and make the project again."
        raise BagtagError(f"The database in {str(folder)!r} was never finished.{advice}")
    if found > LATEST:
        raise ProjectTooNew(
            f"The project in {str(folder)!r} was made by a newer Bagtag (format {found}; this one knows {LATEST}). "
            "Update Bagtag to open it."
        )
    return True


def upgrade(connection: Connection) -> None:
    """Run what is missing, inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
