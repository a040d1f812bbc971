"""Files of somebody else's project: no link out of it is followed, and no model file, name or setting does harm."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.features.embeddings import find_embedding
from miml_core.models import base, load_model
from miml_core.models.mimlfast import MIMLFast
from miml_core.models.ored_lr import ORedLR
from miml_core.posterior import bag_posterior
from miml_core.project import Project
from miml_core.project.db.own_folders import find_own_folder, own_folder
from miml_core.project.jobs import launch
from miml_core.project.learning import training_runs
from miml_core.segments.learned import LearnedSegmenter
from tests.conftest import PATIENCE
from tests.project.foreign import add_job

BAGS = BagSet([[0.0], [1.0], [0.2], [0.9]], [0, 2, 4], [[1, -1], [-1, 1]], ["a", "b"])


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder of the user with a file in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "startup").write_text("mine")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


# links


def test_the_output_of_a_worker_does_not_go_through_a_link(project: Project, outside: Path) -> None:
    logs = project.folder / "logs"
    logs.mkdir()
    (logs / "job-1.txt").symlink_to(outside / "startup")
    job = project.jobs.wait(project.jobs.start("features").id, timeout=PATIENCE)
    assert job.state == "done" and not (logs / "job-1.txt").is_symlink()
    assert contents(outside) == {"startup": "mine"}


def test_a_job_does_not_start_when_the_folder_of_logs_is_a_link(project: Project, outside: Path) -> None:
    (project.folder / "logs").symlink_to(outside)
    job = project.jobs.wait(project.jobs.start("features").id, timeout=PATIENCE)
    assert job.state == "failed" and "is a link" in job.message
    assert contents(outside) == {"startup": "mine"}


def test_the_log_of_a_foreign_job_is_not_read_through_a_link(project: Project, outside: Path) -> None:
    theirs = add_job(project, "features", {}, state="dead")
    (project.folder / "logs").mkdir()
    (project.folder / "logs" / f"job-{theirs}.txt").symlink_to(outside / "startup")
    assert project.jobs.log(theirs) == []
    assert launch.last_output(project.folder, theirs) == []


def test_folders_that_are_links_are_not_written_to(project: Project, outside: Path) -> None:
    (project.folder / "cache").symlink_to(outside)
    with pytest.raises(BagtagError, match="is a link"):
        _ = project.cache_folder
    (project.folder / "runs").mkdir()
    (project.folder / "runs" / "1").symlink_to(outside)
    with pytest.raises(BagtagError, match="is a link"):
        own_folder(project.folder, "runs", "1")
    assert find_own_folder(project.folder, "runs", "1") is None
    for name in ("..", "a/b", "a\\b", "", "c:"):
        with pytest.raises(BagtagError, match="not a name"):
            own_folder(project.folder, name)
    assert contents(outside) == {"startup": "mine"}


def test_a_model_is_not_saved_through_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "model.npz.part").symlink_to(outside / "startup")
    (tmp_path / "model.npz").symlink_to(outside / "startup")
    ORedLR(alpha=1.0).fit(BAGS).save(tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").classes_ == ["a", "b"]
    assert contents(outside) == {"startup": "mine"}


def test_repairing_clears_nothing_behind_a_link(predicted: Project, outside: Path) -> None:
    (outside / "1").mkdir()
    (outside / "1" / "thesis").write_text("mine")
    (outside / "job-77.txt").write_text("mine")
    for name in ("runs", "logs"):
        (predicted.folder / name).symlink_to(outside)
    before = contents(outside)
    predicted.check(repair=True)
    with pytest.raises(BagtagError, match="missing"):
        predicted.runs.load_model(1)
    with predicted.store.write() as connection:
        training_runs.settings.put(connection, "current_run", None)
    training_runs.remove(predicted.store, 1)
    assert contents(outside) == before


# model files


def crafted(path: Path, header: dict[str, Any] | None = None, **arrays: np.ndarray) -> Path:
    """Return a model file like a saved one, with parts of it replaced."""
    ORedLR(alpha=1.0).fit(BAGS).save(path)
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    stored = json.loads(kept["__header__"].tobytes())
    for key, value in (header or {}).items():
        stored[key] = {**stored[key], **value} if isinstance(value, dict) else value
    kept["__header__"] = np.frombuffer(json.dumps(stored).encode(), np.uint8)
    np.savez(path, **{**kept, **arrays})
    return path


@pytest.mark.parametrize(
    "header",
    [
        {"model": "os.system"},
        {"model": ["ored-lr"]},
        {"params": {"max_iter": 10**12}},
        {"params": {"on_load": "print"}},
        {"params": "alpha"},
        {"values": {"predict_proba": 1}},
        {"values": {"__class__": "x"}},
        {"values": {"classes_": "ab"}},
        {"values": {"mapkinds_": ["Popen"]}},
    ],
)
def test_a_crafted_header_of_a_model_file_is_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    with pytest.raises(BagtagError, match="not a complete Bagtag model file"):
        load_model(crafted(tmp_path / "model.npz", header))


@pytest.mark.parametrize(
    ("part", "offset", "value"),
    [
        (b"PK\x01\x02", 6, 99),
        (b"PK\x01\x02", 8, 1),
        (b"PK\x01\x02", 10, 99),
        (b"mean_.npy", len("mean_.npy") + 20, 255),
        (b"PK\x05\x06", 16, 1),
    ],
    ids=["a later version", "encrypted", "another compression", "changed content", "another beginning"],
)
def test_a_damaged_model_file_is_refused(tmp_path: Path, part: bytes, offset: int, value: int) -> None:
    """One byte of a compressed file was changed, in a header of the zip format or in the content."""
    path = crafted(tmp_path / "model.npz")
    with np.load(path) as file:
        np.savez_compressed(path, **{name: file[name] for name in file.files})
    content = bytearray(path.read_bytes())
    place = content.index(part) + offset
    assert content[place] != value
    content[place] = value
    path.write_bytes(content)
    with pytest.raises(BagtagError, match="not a complete Bagtag model file"):
        load_model(path)


def test_a_header_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, __header__=np.frombuffer(b"[" * 10**5, np.uint8))
    with pytest.raises(BagtagError, match="not a complete Bagtag model file"):
        load_model(path)


@pytest.mark.parametrize("error", [MemoryError, AttributeError])
def test_an_error_that_is_not_of_the_model_file_is_not_blamed_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(ORedLR, "_restore", fail)
    with pytest.raises(error):
        load_model(crafted(tmp_path / "model.npz"))


def test_a_model_file_with_objects_is_refused(tmp_path: Path) -> None:
    path = crafted(tmp_path / "model.npz", coefficients_=np.array([print], dtype=object))
    with pytest.raises(BagtagError, match="not a complete Bagtag model file"):
        load_model(path)


@pytest.mark.parametrize("claimed", [2**22, 2**40])
def test_a_small_model_file_cannot_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claimed: int
) -> None:
    """An array that unpacks to more than a model may have, and one that claims more numbers than there are."""
    monkeypatch.setattr(base, "_MOST_BYTES", 2**24)
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("a.npy", "w") as out:
        start = io.BytesIO()
        np.lib.format.write_array_header_1_0(start, {"descr": "<f8", "fortran_order": False, "shape": (claimed,)})
        out.write(start.getvalue())
        for _ in range(32 if claimed == 2**22 else 1):
            out.write(bytes(2**20))
    assert path.stat().st_size < 2**16
    tracemalloc.start()
    try:
        with pytest.raises(BagtagError, match="not a complete Bagtag model file"):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_probabilities_of_the_wrong_shape_do_not_reach_the_kernel() -> None:
    with pytest.raises(BagtagError, match="do not fit 2 bags with 2 classes"):
        bag_posterior(np.zeros((4, 1)), BAGS.offsets, BAGS.tags)
    with pytest.raises(BagtagError, match="do not fit"):
        bag_posterior(np.zeros((4, 2)), [0, 2, 4000], BAGS.tags)


def test_a_training_does_not_go_on_from_weights_of_the_wrong_shape() -> None:
    earlier = MIMLFast(m=4, K=2).fit(BAGS, progress=lambda *_: True)
    assert MIMLFast(m=4, K=2)._usable(earlier, BAGS) is earlier
    earlier.shared_ = earlier.shared_[:1]
    assert MIMLFast(m=4, K=2)._usable(earlier, BAGS) is None


# names in settings


def test_a_crafted_name_of_an_embedding_is_refused_and_imports_nothing() -> None:
    before = set(sys.modules)
    for name in ("os:system", "../evil", "antigravity", "this:d"):
        with pytest.raises(BagtagError, match="There is no embedding"):
            find_embedding(name, "sound")
    assert not {"antigravity", "this"} & (set(sys.modules) - before)


@pytest.mark.parametrize("name", ["/etc/x.npz", "../x.npz", "segmenters/../../x.npz"])
def test_a_learned_segmenter_outside_of_the_project_is_refused(project: Project, name: str) -> None:
    with pytest.raises(BagtagError, match="outside the project"):
        replace(project.settings, learned_segmenter=name).within(project.folder)


@pytest.mark.parametrize(
    "changed",
    [
        {"spectrogram": {"window": 1e9, "hop": 1e9}},
        {"spectrogram": {"hop": 1e-12}},
        {"spectrogram": {"mel_bands": 10**9}},
        {"spectrogram": {"hop": "0"}},
        {"segments": {"shell": "rm"}},
        {"picture_segments": {"working_side": 10**6}},
        {"segments": None},
    ],
)
def test_settings_that_make_no_sense_are_refused_in_a_sentence(project: Project, changed: dict[str, Any]) -> None:
    used = project.settings.to_dict()
    with project.store.write() as connection:
        merged = {key: {**used[key], **value} if value else value for key, value in changed.items()}
        training_runs.settings.put(connection, "settings", {**used, **merged})
    with pytest.raises(BagtagError):
        _ = project.settings


def test_a_segmenter_that_asks_for_features_there_are_not_is_refused(tmp_path: Path) -> None:
    from miml_core.segments import learned, pixel_forest

    trees = {
        "roots": np.zeros(1, np.int32),
        "feature": np.array([10**6, -1, -1], np.int32),
        "threshold": np.zeros(3),
        "left": np.array([1, 1, 2], np.int32),
        "right": np.array([2, 1, 2], np.int32),
        "value": np.zeros(3, np.float32),
    }
    path = tmp_path / "1.npz"
    LearnedSegmenter(learned.SoundSegmentSettings(), trees, (0.5, 0.5), (0.01, 100.0)).save(path)
    with pytest.raises(BagtagError, match="features that do not exist"):
        pixel_forest.mean_probability(
            LearnedSegmenter.load(path).trees, np.zeros((1, 20), np.float32), np.zeros(1, np.int64), 1
        )
    floats = trees | {"left": np.zeros(3)}
    LearnedSegmenter(learned.SoundSegmentSettings(), floats, (0.5, 0.5), (0.01, 100.0)).save(path)
    with pytest.raises(BagtagError, match="not a complete learned segmenter"):
        LearnedSegmenter.load(path)
