"""The settings of a project: its name, kind and place, how segments are detected, and the app's preferences."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, bindparam, func, insert, select, text

from miml_core.errors import BagtagError
from miml_core.features.embeddings import default_embedding
from miml_core.instances import InstanceSettings
from miml_core.media.recording_place import Place
from miml_core.project.db import history_notes, revisions
from miml_core.project.db.schema import bags, features, meta, topics

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings

SURE_DECIMALS = 2
"""Thresholds of certainty are whole percents, so that the screen and the database draw the line at the same place."""

_GET = select(meta.c.value).where(meta.c.key == bindparam("key"))
_PUT = text("INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = :value")


def initialise(connection: Connection, *, kind: str, name: str, settings: dict[str, Any] | None) -> None:
    """Fill the tables of a new project."""
    if kind not in ("sound", "picture"):
        raise BagtagError(f'The kind of a project is "sound" or "picture", not {kind!r}.')
    connection.execute(insert(topics).values(name=revisions.COUNTER, revision=1))
    put(connection, "name", name)
    put(connection, "kind", kind)
    put(connection, "settings_chosen", settings is not None)
    _store(connection, InstanceSettings() if settings is None else InstanceSettings.from_dict(settings))


def get(connection: Connection, key: str, default: Any = None) -> Any:
    """Return a stored value (any JSON)."""
    stored = connection.execute(_GET, {"key": key}).scalar()
    return default if stored is None else json.loads(stored)


def put(connection: Connection, key: str, value: Any) -> None:
    """Store a value (any JSON)."""
    connection.execute(_PUT, {"key": key, "value": json.dumps(value)})


def kind(connection: Connection) -> Literal["sound", "picture"]:
    """Return which kind of media the project holds."""
    return "picture" if get(connection, "kind") == "picture" else "sound"


def instance_settings(connection: Connection) -> InstanceSettings:
    """Return how segments are detected and described."""
    try:
        return InstanceSettings.from_dict(get(connection, "settings"))
    except (KeyError, TypeError, AttributeError) as error:
        raise BagtagError(
            "The settings of this project cannot be read: the database is damaged, or was not written by Bagtag. "
            "Restore it from a backup."
        ) from error


def set_instance_settings(connection: Connection, new: InstanceSettings, *, annotator: str) -> int:
    """Store new settings; return how many bags they make out of date."""
    if get(connection, "settings") != json.loads(json.dumps(new.to_dict())):
        revision = revisions.advance(connection, changed_topics=["settings"])
        history_notes.write_history_note(connection, annotator, "settings", "changed the settings", revision=revision)
        _store(connection, new)
    put(connection, "settings_chosen", True)
    return n_out_of_date(connection)


def suit_first_recording(connection: Connection, rate: float) -> None:
    """Choose settings by the sample rate of the first recording, unless a person has already changed them."""
    if not get(connection, "settings_chosen"):
        _store(connection, replace(InstanceSettings.for_rate(rate), embedding=default_embedding(rate)))
        put(connection, "settings_chosen", True)
        revisions.advance(connection, changed_topics=["settings"])


def renew_keys(connection: Connection) -> InstanceSettings:
    """Return the settings, with keys computed by this version, which may detect or describe segments differently."""
    used = instance_settings(connection)
    if (used.segment_key, used.feature_key) != (segment_key(connection), feature_key(connection)):
        _store(connection, used)
        revisions.advance(connection, changed_topics=["settings"])
    return used


def place(connection: Connection) -> Place | None:
    """Return where the project's recordings were made, as somebody entered it."""
    stored = get(connection, "place")
    try:
        latitude, longitude = stored
        return Place(float(latitude), float(longitude))
    except (BagtagError, TypeError, ValueError):  # none, or no numbers in a project that Bagtag did not write
        return None


def set_place(connection: Connection, new: Place | None, *, annotator: str) -> None:
    """Store where the project's recordings were made; None removes it."""
    if new != place(connection):
        revision = revisions.advance(connection, changed_topics=["settings"])
        sentence = "removed the place of the recordings" if new is None else f"set the place of the recordings to {new}"
        history_notes.write_history_note(connection, annotator, "settings", sentence, revision=revision)
        put(connection, "place", None if new is None else [new.latitude, new.longitude])


def sure_from(connection: Connection) -> float | None:
    """Return the confidence threshold that a person chose for the project; None if nobody chose one."""
    stored = get(connection, "sure_from")
    is_number = isinstance(stored, int | float) and not isinstance(stored, bool)
    return float(stored) if is_number and 0 <= stored <= 1 else None


def set_sure_from(connection: Connection, new: float | None, *, annotator: str) -> None:
    """Store the confidence threshold of the project; None goes back to that of the model."""
    if new is not None and not 0 <= new <= 1:
        raise BagtagError(f"The confidence threshold must be between 0 and 1, not {new:g}.")
    rounded = None if new is None else round(float(new), SURE_DECIMALS)
    if rounded != sure_from(connection):
        revision = revisions.advance(connection, changed_topics=["settings"])
        sentence = f"set the confidence threshold to {'that of the model' if new is None else f'{rounded:.0%}'}"
        history_notes.write_history_note(connection, annotator, "settings", sentence, revision=revision)
        put(connection, "sure_from", rounded)


def view_band(connection: Connection) -> tuple[float, float | None] | None:
    """Return the frequency range, in hertz, that sounds are shown with; None shows all that was analysed."""
    try:
        low, high = get(connection, "view_band")
        return float(low), None if high is None else float(high)
    except (TypeError, ValueError):  # none, or no numbers in a project that Bagtag did not write
        return None


def set_view_band(connection: Connection, new: tuple[float, float | None] | None) -> None:
    """Store the frequency range that sounds are shown with; segments and features do not depend on it."""
    if new is not None and (new[0] < 0 or (new[1] is not None and new[1] <= new[0])):
        raise BagtagError("The low end of a frequency range must be below its high end; enter other frequencies.")
    if new != view_band(connection):
        revisions.advance(connection, changed_topics=["settings"])
        put(connection, "view_band", None if new is None else list(new))


def segment_key(connection: Connection) -> str:
    """Return the key of the present settings; segments detected with another one are out of date."""
    return str(get(connection, "segment_key"))


def feature_key(connection: Connection) -> str:
    """Return the key of the present settings for features; features with another one are out of date."""
    return str(get(connection, "feature_key"))


def n_out_of_date(connection: Connection) -> int:
    """Count the bags whose segments or features are missing or were made with other settings."""
    stale = bags.outerjoin(features, features.c.bag_id == bags.c.id)
    wanted = (bags.c.segment_key != segment_key(connection)) | bags.c.segment_key.is_(None)
    described = features.c.feature_key != feature_key(connection)
    return int(connection.execute(select(func.count()).select_from(stale).where(wanted | described)).scalar() or 0)


def _store(connection: Connection, new: InstanceSettings) -> None:
    put(connection, "settings", new.to_dict())
    put(connection, "segment_key", new.segment_key)
    put(connection, "feature_key", new.feature_key)
