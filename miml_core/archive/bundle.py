"""A model bundle: one file with everything that is needed to apply a trained model elsewhere.

The file is a ZIP archive, not compressed, of `bundle.json`, `model.npz` and perhaps `segmenter.npz`: JSON and arrays,
no code. It may come from somebody else, so that its members and their sizes are checked before anything is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from miml_core import __version__
from miml_core.atomic_files import atomic_writer
from miml_core.errors import BagtagError
from miml_core.media.regular_files import check_regular_file

if TYPE_CHECKING:
    from miml_core.instances import Instances, InstanceSettings
    from miml_core.models.base import Model
    from miml_core.segments.learned import LearnedSegmenter

SUFFIX = ".bagtag"
SEGMENTER = "segmenter.npz"
"""What the settings of a bundle name as the file of their learned segmenter."""

_FORMAT = "bagtag-bundle-1"
_FACTS, _MODEL = "bundle.json", "model.npz"
_MOST_BYTES = {_FACTS: 2**24, _MODEL: 2**30, SEGMENTER: 2**28}
_ID_DIGITS = 16
_INVALID = (
    OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError, NotImplementedError,
    zipfile.BadZipFile,
)  # fmt: skip


@dataclass(frozen=True)
class BundleClass:
    """A class of the model.

    Examples
    --------
    >>> BundleClass("Wren", "Troglodytes troglodytes")
    BundleClass(name='Wren', scientific_name='Troglodytes troglodytes')
    """

    name: str
    scientific_name: str = ""


@dataclass(frozen=True, eq=False)
class ModelBundle:
    """A model that can be applied without the project in which it was trained.

    Attributes
    ----------
    id : str
        Hash of everything that its predictions depend on; the provenance is not part of it.
    kind : "sound" or "picture"
    classes : tuple of C BundleClass
        Columns of the model's probabilities; a further column is the background.
    settings : InstanceSettings
        How segments are detected and described.
    clip_seconds : float
        Length of the bags that the model learnt from, into which recordings are cut; 0 for pictures.
    model : Model
    segmenter : LearnedSegmenter, optional
    provenance : dict
        Project, run, dates, people and numbers, for reports.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     bundle = read_bundle(archive.parent / "model.bagtag")
    ...     found = bundle.instances(archive.parent / "survey" / "hill" / "20240501_050000.wav", 0.0, 1.0)
    >>> [bundle.classes[k].name for k in bundle.model.predict_proba(found.X).argmax(axis=1)]
    ['Wren', 'Robin']
    """

    id: str
    kind: Literal["sound", "picture"]
    classes: tuple[BundleClass, ...]
    settings: InstanceSettings
    clip_seconds: float
    model: Model
    segmenter: LearnedSegmenter | None
    provenance: dict[str, Any]

    def instances(self, path: Path, start: float, end: float) -> Instances:
        """Return the segments and features of a clip of a recording, or of a picture."""
        from miml_core.instances import picture_instances, sound_instances

        if self.kind == "picture":
            return picture_instances(path, self.settings)
        return sound_instances(path, start, end, self.settings, segmenter=self.segmenter)


def write_bundle(
    path: str | Path,
    *,
    kind: str,
    classes: list[BundleClass],
    settings: InstanceSettings,
    clip_seconds: float,
    model_file: bytes,
    segmenter_file: bytes | None,
    provenance: dict[str, Any],
) -> str:
    """Write a bundle, over an earlier one if there is one, and return its id.

    Parameters
    ----------
    path : path
    kind : "sound" or "picture"
    classes : list of C BundleClass
        Of the model's columns.
    settings : InstanceSettings
    clip_seconds : float
    model_file, segmenter_file : bytes
        As `Model.save` and `LearnedSegmenter.save` write them.
    provenance : dict
        JSON values.

    Returns
    -------
    str
        See `ModelBundle`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from miml_core import BagSet
    >>> from miml_core.instances import InstanceSettings, feature_names
    >>> from miml_core.models import MODELS
    >>> settings = InstanceSettings(embedding=None)
    >>> X = np.eye(2, len(feature_names(settings, "sound")))
    >>> model = MODELS["ored-lr"](alpha=1.0).fit(BagSet(X, [0, 1, 2], [[1, -1], [-1, 1]], ["Wren", "Robin"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.npz")
    ...     model_id = write_bundle(
    ...         f"{folder}/calls.bagtag",
    ...         kind="sound",
    ...         classes=[BundleClass("Wren"), BundleClass("Robin")],
    ...         settings=settings,
    ...         clip_seconds=10.0,
    ...         model_file=Path(f"{folder}/model.npz").read_bytes(),
    ...         segmenter_file=None,
    ...         provenance={"project": "dawn"},
    ...     )
    ...     read_bundle(f"{folder}/calls.bagtag").id == model_id
    True
    """
    settings = replace(settings, learned_segmenter=None if segmenter_file is None else SEGMENTER)
    facts = {
        "format": _FORMAT,
        "kind": kind,
        "classes": [[one.name, one.scientific_name] for one in classes],
        "settings": settings.to_dict(),
        "segment_key": settings.segment_key,
        "feature_key": settings.feature_key,
        "clip_seconds": float(clip_seconds),
        "provenance": provenance,
    }
    members = {_FACTS: json.dumps(facts, indent=1, sort_keys=True).encode(), _MODEL: model_file}
    if segmenter_file is not None:
        members[SEGMENTER] = segmenter_file
    with atomic_writer(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
        for name, content in members.items():
            packed.writestr(zipfile.ZipInfo(name), content)  # without the time: the same content gives the same file
    return _id(facts, members)


def read_bundle(path: str | Path) -> ModelBundle:
    """Read a bundle and check that this installation can reproduce it.

    Raises
    ------
    BagtagError
        The file is no bundle or is damaged; this version detects or describes segments differently; or an embedding
        that it needs is not installed.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     bundle = read_bundle(archive.parent / "model.bagtag")
    >>> bundle.kind, [one.name for one in bundle.classes], bundle.clip_seconds, bundle.model
    ('sound', ['Wren', 'Robin'], 1.0, ORedLR(alpha=0.1))
    """
    path = Path(path)
    check_regular_file(path)
    try:
        members = _members(path)
        facts = json.loads(members[_FACTS])
        if not isinstance(facts, dict) or not str(facts["format"]).startswith("bagtag-bundle-"):
            raise ValueError("format")
    except _INVALID as error:
        raise _no_bundle(path) from error
    if facts["format"] != _FORMAT:
        raise BagtagError(f"{path.name} was exported by a newer Bagtag; this is {__version__}. Update Bagtag.")
    try:
        bundle = _bundle(facts, members)
    except _INVALID as error:  # also `BagtagError` of the model, the segmenter or the settings
        raise _no_bundle(path) from error
    _check_reproducible(path, facts, bundle)
    return bundle


@lru_cache(maxsize=2)
def read_bundle_cached(path: Path) -> ModelBundle:
    """Return the bundle of a file that never changes, read once per process."""
    return read_bundle(path)


def _members(path: Path) -> dict[str, bytes]:
    """Return the members of the file, if they are those of a bundle and as large as they state."""
    with zipfile.ZipFile(path) as packed:
        found = packed.infolist()
        names = [member.filename for member in found]
        if len(set(names)) != len(names) or not {_FACTS, _MODEL} <= set(names) <= set(_MOST_BYTES):
            raise ValueError("members")
        for member in found:
            is_stored = member.compress_type == zipfile.ZIP_STORED and member.compress_size == member.file_size
            if not is_stored or member.file_size > min(_MOST_BYTES[member.filename], path.stat().st_size):
                raise ValueError(member.filename)
        return {member.filename: packed.read(member) for member in found}


def _bundle(facts: dict[str, Any], members: dict[str, bytes]) -> ModelBundle:
    from miml_core.instances import InstanceSettings
    from miml_core.models import load_model
    from miml_core.segments.learned import LearnedSegmenter

    settings = InstanceSettings.from_dict(facts["settings"])
    if settings.learned_segmenter != (SEGMENTER if SEGMENTER in members else None):
        raise ValueError("segmenter")
    segmenter = LearnedSegmenter.load(io.BytesIO(members[SEGMENTER])) if SEGMENTER in members else None
    classes = tuple(BundleClass(_text(name), _text(scientific)) for name, scientific in facts["classes"])
    model = load_model(io.BytesIO(members[_MODEL]))
    if facts["kind"] not in ("sound", "picture") or len(model.classes_) != len(classes):
        raise ValueError("classes")
    clip_seconds = float(facts["clip_seconds"])
    if not (facts["kind"] == "picture" or 0.1 <= clip_seconds <= 3600.0):
        raise ValueError("clip_seconds")
    provenance = facts["provenance"] if isinstance(facts["provenance"], dict) else {}
    kind: Literal["sound", "picture"] = "picture" if facts["kind"] == "picture" else "sound"
    return ModelBundle(_id(facts, members), kind, classes, settings, clip_seconds, model, segmenter, provenance)


def _check_reproducible(path: Path, facts: dict[str, Any], bundle: ModelBundle) -> None:
    from miml_core.instances import feature_names

    settings = bundle.settings
    if (settings.segment_key, settings.feature_key) != (facts["segment_key"], facts["feature_key"]):
        made = bundle.provenance.get("bagtag", "another version")
        raise BagtagError(
            f"{path.name} was exported by Bagtag {made}, which detects or describes segments differently from this "
            f"version, {__version__}: its predictions would be wrong here. Train the model again and export it, or "
            f"use Bagtag {made}."
        )
    try:
        names = feature_names(settings, bundle.kind)
    except BagtagError as error:
        raise BagtagError(f"{path.name} uses the embedding {settings.embedding!r}. {error}") from error
    if len(names) != bundle.model.n_features_:
        raise BagtagError(
            f"{path.name} was trained on {bundle.model.n_features_} features per segment, but this installation "
            f"computes {len(names)}. Train the model again and export it."
        )


def _id(facts: dict[str, Any], members: dict[str, bytes]) -> str:
    """Return the hash of all facts but the provenance, of the model and of the segmenter."""
    essential = {name: value for name, value in facts.items() if name != "provenance"}
    digest = hashlib.sha256(json.dumps(essential, sort_keys=True).encode())
    for name in (_MODEL, SEGMENTER):
        digest.update(hashlib.sha256(members.get(name, b"")).digest())
    return digest.hexdigest()[:_ID_DIGITS]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _no_bundle(path: Path) -> BagtagError:
    return BagtagError(f"{path.name} is not a complete model bundle; export it again with `bagtag export-model`.")
