"""Embeddings: the documented example runs as it is, in a script and in a project's own processes."""

import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image

from miml_core.__main__ import main
from miml_core.errors import BagtagError
from miml_core.features import embeddings
from miml_core.features.acoustic import sound_feature_names
from miml_core.features.embeddings import Embedding, PictureClip, find_embedding, register_embedding
from miml_core.instances import InstanceSettings, describe_regions, picture_instances, sound_instances
from miml_core.project import Project
from miml_core.segments.regions import Region
from tests.project.sounds import write_recordings, write_tags

RATE = 22_050


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(embeddings, "_registered", {})


def example() -> tuple[str, str]:
    """Return the Python and the TOML of the worked example in CONTRIBUTING.md."""
    section = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text().partition("## How to add an embedding")[2]
    python, toml = re.findall(r"```\w+\n(.*?)```", section, flags=re.DOTALL)
    return python, textwrap.dedent(toml)


@pytest.fixture
def rising(tmp_path):
    """A call that doubles its amplitude from third to third."""
    t = np.arange(2 * RATE) / RATE
    call = np.sin(2 * np.pi * 4000 * t) * np.select([t < 0.7, t < 0.9, t < 1.1, t < 1.3], [0, 0.1, 0.2, 0.4], 0)
    soundfile.write(tmp_path / "rising.wav", call + 0.0005 * np.random.default_rng(0).standard_normal(len(t)), RATE)
    return tmp_path / "rising.wav"


def test_the_documented_example_adds_its_columns(rising):
    scope: dict[str, Any] = {}
    exec(compile(example()[0], "example", "exec"), scope)
    register_embedding(scope["loudness"])
    plain = InstanceSettings.for_rate(RATE)
    settings = replace(plain, embedding="thirds-1")
    before, found = sound_instances(rising, 0.5, 2.0, plain), sound_instances(rising, 0.5, 2.0, settings)
    assert found.names == [*before.names, "first third", "second third", "last third"]
    np.testing.assert_array_equal(found.X[:, :-3], before.X)
    again = describe_regions(rising, 0.5, 2.0, found.grid, found.regions, settings)
    np.testing.assert_array_equal(again, found.X)
    left, right = (round(float(found.grid.column_at(second))) for second in (0.7, 1.3))
    call = Region(0, left, np.ones((found.grid.height, right - left), dtype=bool))
    (row,) = describe_regions(rising, 0.5, 2.0, found.grid, [call], settings)
    np.testing.assert_allclose(row[-3:], [-12, -6, 0], atol=0.5)
    assert settings.feature_key != plain.feature_key and settings.segment_key == plain.segment_key
    assert InstanceSettings.from_dict(settings.to_dict()) == settings


@pytest.mark.slow
def test_an_installed_package_serves_a_project_from_the_command_line(tmp_path, monkeypatch, capsys):
    code, project_file = example()
    site = tmp_path / "site"
    offered = re.search(r"^thirds-1 = .*$", project_file, flags=re.MULTILINE).group().replace('"', "")
    (site / "my_features-1.dist-info").mkdir(parents=True)
    (site / "my_features.py").write_text(code)
    (site / "my_features-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: my-features\nVersion: 1\n")
    (site / "my_features-1.dist-info" / "entry_points.txt").write_text(f"[bagtag.embeddings]\n{offered}\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.syspath_prepend(str(site))
    heard = write_recordings(tmp_path / "recordings", 2)
    folder = str(tmp_path / "project")
    assert main(["new", folder]) == 0 and main(["import", folder, str(tmp_path / "recordings")]) == 0
    assert main(["tag", folder, str(write_tags(tmp_path / "tags.csv", heard))]) == 0
    assert main(["segment", folder, "--embedding", "thirds-1"]) == 0
    with Project.open(tmp_path / "project") as project:
        assert project.bags.bagset()[0].X.shape[1] == len(sound_feature_names()) + 3
    assert main(["segment", folder, "--embedding", "__import__('os')"]) == 1
    assert "no embedding" in capsys.readouterr().err
    with Project.open(tmp_path / "project") as project:
        assert project.settings.embedding == "thirds-1"


def test_pictures_have_embeddings_too(tmp_path):
    def brightness(clip: PictureClip) -> list[list[float]]:
        return [[clip.pixels[r.top : r.top + r.mask.shape[0]][:, r.left : r.left + r.mask.shape[1]][r.mask].mean()]
                for r in clip.regions]  # fmt: skip

    register_embedding(Embedding("brightness", "picture", ("brightness",), brightness))
    halves = np.repeat([[[10] * 3] * 60, [[200] * 3] * 60], 30, axis=0).astype(np.uint8)
    Image.fromarray(halves).save(tmp_path / "halves.png")
    found = picture_instances(tmp_path / "halves.png", InstanceSettings(embedding="brightness"))
    assert found.names[-1] == "brightness" and sorted(set(found.X[:, -1].round())) == [10, 200]


@pytest.mark.parametrize(
    ("describe", "sentence"),
    [
        (lambda clip: np.zeros((len(clip.regions), 2)), "of shape"),
        (lambda clip: np.full((len(clip.regions), 1), np.nan), "not finite"),
        (lambda clip: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_the_error_of_a_wrong_embedding_names_it(rising, describe, sentence):
    register_embedding(Embedding("odd", "sound", ("one",), describe))
    with pytest.raises(BagtagError, match=f"'odd'.*{sentence}"):
        sound_instances(rising, 0.0, 2.0, InstanceSettings(embedding="odd"))


def test_a_silent_clip_has_no_rows(tmp_path):
    register_embedding(Embedding("odd", "sound", ("one",), lambda clip: 1 / 0))
    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    assert sound_instances(tmp_path / "silent.wav", 0.0, 1.0, InstanceSettings(embedding="odd")).X.shape == (0, 62)


def test_names_kinds_and_columns_are_checked():
    register_embedding(Embedding("odd", "sound", ("one",), lambda clip: None))
    with pytest.raises(BagtagError, match="for sound, not for pictures"):
        find_embedding("odd", "picture")
    with pytest.raises(BagtagError, match=r"there are .*odd"):
        find_embedding("even", "sound")
    with pytest.raises(BagtagError, match="names of its columns"):
        register_embedding(Embedding("none", "sound", (), lambda clip: None))
