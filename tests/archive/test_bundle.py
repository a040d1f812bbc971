"""Model bundles: what is in them, and what is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from miml_core.archive import bundle as bundles
from miml_core.archive.bundle import SEGMENTER, read_bundle
from miml_core.archive.exporting import export_model
from miml_core.errors import BagtagError
from miml_core.instances import InstanceSettings
from miml_core.models import load_model
from miml_core.project import Project
from tests.archive.conftest import CLIP_SECONDS, make_bundle
from tests.project.job_stages import forked_workers, make_stages
from tests.project.sounds import RATE, SPECIES


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def pack(path: Path, content: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as packed:
        for name, each in content.items():
            packed.writestr(name, each)
    return path


def change(path: Path, source: Path, **facts: object) -> Path:
    content = members(source)
    content["bundle.json"] = json.dumps({**json.loads(content["bundle.json"]), **facts}).encode()
    return pack(path, content)


def test_a_bundle_predicts_what_the_model_did(bundle_file):
    bundle = read_bundle(bundle_file)
    model = load_model(bundle_file.parent / "model.npz")
    path = next((bundle_file.parent / "train").glob("*.wav"))
    found = bundle.instances(path, 0.0, CLIP_SECONDS)
    assert len(found.regions) >= 3
    np.testing.assert_array_equal(bundle.model.predict_proba(found.X), model.predict_proba(found.X))
    assert [one.name for one in bundle.classes] == list(SPECIES) and bundle.provenance["project"] == "test"


def test_the_id_is_that_of_the_content(bundle_file, tmp_path):
    same = change(tmp_path / "same.bagtag", bundle_file, provenance={"project": "another"})
    other = change(tmp_path / "other.bagtag", bundle_file, clip_seconds=5.0)
    assert read_bundle(same).id == read_bundle(bundle_file).id != read_bundle(other).id


def test_other_features_are_refused(bundle_file, tmp_path):
    with pytest.raises(BagtagError, match=r"old\.bagtag was exported by Bagtag 0\.2\.0, which detects or describes"):
        read_bundle(change(tmp_path / "old.bagtag", bundle_file, feature_key="0" * 16))


def test_a_missing_embedding_is_named(bundle_file, tmp_path):
    settings = InstanceSettings.for_rate(RATE).to_dict() | {"embedding": "whales-1"}
    keys = InstanceSettings.from_dict(settings)
    path = change(tmp_path / "m.bagtag", bundle_file, settings=settings, feature_key=keys.feature_key)
    with pytest.raises(BagtagError, match=r"uses the embedding 'whales-1'\. There is no embedding"):
        read_bundle(path)


def test_another_number_of_features_is_refused(bundle_file, tmp_path):
    settings = InstanceSettings.from_dict(InstanceSettings.for_rate(RATE).to_dict() | {"feature_set": "paper"})
    facts = {"settings": settings.to_dict(), "feature_key": settings.feature_key}
    with pytest.raises(BagtagError, match="61 features per segment, but this installation computes"):
        read_bundle(change(tmp_path / "m.bagtag", bundle_file, **facts))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content | {"../outside.txt": b"x"},
        lambda content: content | {SEGMENTER: b"no segmenter"},
        lambda content: {"bundle.json": content["bundle.json"]},
        lambda content: content | {"model.npz": content["model.npz"][:-100]},
        lambda content: content | {"bundle.json": b"[]"},
        lambda content: content | {"bundle.json": b"[" * 100_000},
        lambda content: content | {"bundle.json": content["bundle.json"].replace(b"sound", b"smell")},
    ],
)
def test_foreign_files_are_refused(bundle_file, tmp_path, spoil):
    path = pack(tmp_path / "m.bagtag", spoil(members(bundle_file)))
    with pytest.raises(BagtagError, match="is not a complete model bundle"):
        read_bundle(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.bagtag"]


def test_compressed_and_cut_files_are_refused(bundle_file, tmp_path, monkeypatch):
    bomb = pack(tmp_path / "bomb.bagtag", members(bundle_file) | {SEGMENTER: bytes(10_000_000)}, zipfile.ZIP_DEFLATED)
    cut = tmp_path / "cut.bagtag"
    cut.write_bytes(bundle_file.read_bytes()[:2000])
    for path in (bomb, cut):
        with pytest.raises(BagtagError, match="is not a complete model bundle"):
            read_bundle(path)
    monkeypatch.setitem(bundles._MOST_BYTES, "model.npz", 100)
    with pytest.raises(BagtagError, match="is not a complete model bundle"):
        read_bundle(bundle_file)


def test_a_newer_format_is_said(bundle_file, tmp_path):
    with pytest.raises(BagtagError, match="exported by a newer Bagtag"):
        read_bundle(change(tmp_path / "m.bagtag", bundle_file, format="bagtag-bundle-2"))


def test_a_project_exports_its_model(tmp_path):
    with forked_workers():
        make_stages(tmp_path)
        with Project.open(tmp_path / "whole", annotator="Ann") as project:
            wren = project.classes.find("Low")
            project.edits.change_class(wren.id, scientific_name="Avis profunda")
            model_id = export_model(project, tmp_path / "model.bagtag")
            bundle = read_bundle(tmp_path / "model.bagtag")
            assert bundle.id == model_id == export_model(project, tmp_path / "again.bagtag", run_id=1)
            with pytest.raises(BagtagError, match=r"nowhere/model\.bagtag' could not be written: .* Create its folder"):
                export_model(project, tmp_path / "nowhere" / "model.bagtag")
            assert {one.name: one.scientific_name for one in bundle.classes}["Low"] == "Avis profunda"
            assert bundle.clip_seconds == pytest.approx(2.4) and bundle.settings == project.settings
            assert bundle.provenance["annotators"] == ["Ann"] and bundle.provenance["tagged_bags"] == 6
            bags, _ = project.bags.bagset()
            run = project.runs.load_model()
            np.testing.assert_array_equal(bundle.model.predict_proba(bags.X), run.predict_proba(bags.X))
            project.edits.merge_classes([project.classes.find("High").id], wren.id)
            with pytest.raises(BagtagError, match="Classes were merged or removed since run 1"):
                export_model(project, tmp_path / "model.bagtag")
        with Project.open(tmp_path / "train") as project, pytest.raises(BagtagError, match="no model yet"):
            export_model(project, tmp_path / "model.bagtag")


def test_a_learned_segmenter_comes_along(tmp_path):
    from miml_core.media.sound_blocks import SoundWindow
    from miml_core.segments.learned import Example, LearnedSegmenter

    settings = InstanceSettings.for_rate(RATE)
    path = make_bundle(tmp_path, settings)
    bundle = read_bundle(path)
    examples = []
    for recording in sorted((tmp_path / "train").glob("*.wav")):
        window = SoundWindow.of(recording, 0.0, CLIP_SECONDS, settings.spectrogram, "mix")
        regions = bundle.instances(recording, 0.0, CLIP_SECONDS).regions
        examples.append(Example(window.block(0).spectrogram, regions[:-1], regions[-1:], True))
    segmenter = LearnedSegmenter.train(examples, settings.segments)
    segmenter.save(tmp_path / "segmenter.npz")
    bundles.write_bundle(
        tmp_path / "learned.bagtag",
        kind="sound",
        classes=list(bundle.classes),
        settings=InstanceSettings.from_dict(settings.to_dict() | {"learned_segmenter": "segmenters/3.npz"}),
        clip_seconds=CLIP_SECONDS,
        model_file=(tmp_path / "model.npz").read_bytes(),
        segmenter_file=(tmp_path / "segmenter.npz").read_bytes(),
        provenance={},
    )
    learned = read_bundle(tmp_path / "learned.bagtag")
    assert learned.id != bundle.id and learned.segmenter is not None
    (tmp_path / "segmenter.npz").unlink()
    found = learned.instances(recording, 0.0, CLIP_SECONDS).regions
    expected = segmenter.find(examples[-1].spectrogram, settings.segments)
    assert [one.to_bytes() for one in found] == [one.to_bytes() for one in expected]
