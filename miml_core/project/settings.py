"""What a project remembers about itself: its name and kind, how segments are made, and the app's preferences."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, bindparam, func, insert, select, text

from miml_core.errors import BagtagError
from miml_core.project import history, revisions
from miml_core.project.schema import bags, features, meta, topics

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings

_GET = select(meta.c.value).where(meta.c.key == bindparam("key"))
_PUT = text("INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = :value")


def initialise(connection: Connection, *, kind: str, name: str, settings: dict[str, Any] | None) -> None:
    """Fill the tables of a new project."""
    if kind not in ("sound", "picture"):
        raise BagtagError(f'A project holds "sound" or "picture", not {kind!r}.')
    connection.execute(insert(topics).values(name=revisions.COUNTER, revision=1))
    put(connection, "name", name)
    put(connection, "kind", kind)
    put(connection, "settings_chosen", settings is not None)
    from miml_core.instances import InstanceSettings

    _keep(connection, InstanceSettings() if settings is None else InstanceSettings.from_dict(settings))


def get(connection: Connection, key: str, default: Any = None) -> Any:
    stored = connection.execute(_GET, {"key": key}).scalar()
    return default if stored is None else json.loads(stored)


def put(connection: Connection, key: str, value: Any) -> None:
    connection.execute(_PUT, {"key": key, "value": json.dumps(value)})


def kind(connection: Connection) -> Literal["sound", "picture"]:
    return "picture" if get(connection, "kind") == "picture" else "sound"


def instance_settings(connection: Connection) -> InstanceSettings:
    from miml_core.instances import InstanceSettings

    try:
        return InstanceSettings.from_dict(get(connection, "settings"))
    except (KeyError, TypeError, AttributeError) as error:
        raise BagtagError(
            "The settings of this project cannot be read: the database is damaged, or was not written by Bagtag. "
            "Restore it from a backup."
        ) from error


def set_instance_settings(connection: Connection, new: InstanceSettings, *, annotator: str) -> int:
    """Keep new settings; answers how many bags are out of date by them."""
    if get(connection, "settings") != json.loads(json.dumps(new.to_dict())):
        revision = revisions.advance(connection, changed_topics=["settings"])
        history.note(connection, annotator, "settings", "changed the settings", revision=revision)
        _keep(connection, new)
    put(connection, "settings_chosen", True)
    return n_out_of_date(connection)


def suit_first_recording(connection: Connection, rate: float) -> None:
    """Choose settings by the sample rate of the first recording, unless a person already chose."""
    if not get(connection, "settings_chosen"):
        from miml_core.instances import InstanceSettings

        _keep(connection, InstanceSettings.for_rate(rate))
        put(connection, "settings_chosen", True)
        revisions.advance(connection, changed_topics=["settings"])


def renew_keys(connection: Connection) -> InstanceSettings:
    """The settings, with their keys computed by this Bagtag: a newer one may find or describe segments differently."""
    used = instance_settings(connection)
    if (used.segment_key, used.feature_key) != (segment_key(connection), feature_key(connection)):
        _keep(connection, used)
        revisions.advance(connection, changed_topics=["settings"])
    return used


def segment_key(connection: Connection) -> str:
    """The key of the settings as they are now; segments found with another one are out of date."""
    return str(get(connection, "segment_key"))


def feature_key(connection: Connection) -> str:
    return str(get(connection, "feature_key"))


def n_out_of_date(connection: Connection) -> int:
    """Bags whose segments or features were made with other settings, or not at all."""
    stale = bags.outerjoin(features, features.c.bag_id == bags.c.id)
    wanted = (bags.c.segment_key != segment_key(connection)) | bags.c.segment_key.is_(None)
    described = features.c.feature_key != feature_key(connection)
    return int(connection.execute(select(func.count()).select_from(stale).where(wanted | described)).scalar() or 0)


def _keep(connection: Connection, new: InstanceSettings) -> None:
    put(connection, "settings", new.to_dict())
    put(connection, "segment_key", new.segment_key)
    put(connection, "feature_key", new.feature_key)
