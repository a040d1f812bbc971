"""What `segment` prints: the bags that were segmented, and those whose features were computed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from miml_core.__main__ import main
from miml_core.project import Project
from tests.project.sounds import write_recordings

NOT_NEEDED = "No bag had to be segmented"
COMPUTED = NOT_NEEDED + "; the features of 2 bags were computed {}, and the next training uses them"
ONES = """
import numpy as np
from miml_core.features.embeddings import Embedding

ones = Embedding("ones-1", "sound", ("one",), lambda clip: np.ones((len(clip.boxes), 1)))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of two recordings without segments."""
    monkeypatch.setenv("BAGTAG_EMBEDDING", "none")
    write_recordings(tmp_path / "recordings", 2)
    with Project.create(tmp_path / "project") as made:
        made.media.add(sorted((tmp_path / "recordings").iterdir()))
    return tmp_path / "project"


def segment(capsys: pytest.CaptureFixture[str], project: Path, *words: str) -> tuple[int, str]:
    code = main(["segment", str(project), *words])
    return code, capsys.readouterr().out.rstrip("\n")


def n_columns(project: Path) -> int:
    with Project.open(project) as opened:
        return int(opened.segments.features(1)[1].shape[1])


@pytest.mark.usefixtures("quick_workers")
def test_features_that_are_computed_again_are_mentioned(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = segment(capsys, project)
    assert code == 0 and re.fullmatch(r"\d+ segments in 2 bags", text)
    assert segment(capsys, project) == (0, NOT_NEEDED)
    with Project.open(project) as opened:
        opened.set_settings(replace(opened.settings, feature_set="paper"))
        assert opened.segments.n_to_describe() == 2
    code, printed = segment(capsys, project, "--json")
    done = json.loads(printed)
    assert code == 0 and done["message"] == COMPUTED.format("without an embedding") and done["bags"] == 0
    with Project.open(project) as opened:
        assert opened.segments.n_to_describe() == 0
    code, again = segment(capsys, project, "--again")
    assert code == 0 and again == text


@pytest.mark.usefixtures("quick_workers")
def test_bags_that_all_failed_are_not_called_up_to_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (project.parent / "recordings").iterdir():
        path.unlink()
    assert segment(capsys, project) == (3, "No bag was segmented")


@pytest.mark.slow
def test_an_embedding_for_segments_that_are_up_to_date(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "ones-1.dist-info").mkdir(parents=True)
    (site / "ones.py").write_text(ONES)
    (site / "ones-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ones\nVersion: 1\n")
    (site / "ones-1.dist-info" / "entry_points.txt").write_text("[bagtag.embeddings]\nones-1 = ones:ones\n")
    monkeypatch.setenv("PYTHONPATH", str(site))  # for the job's process, a real one
    monkeypatch.syspath_prepend(str(site))
    assert segment(capsys, project)[0] == 0
    before = n_columns(project)
    assert segment(capsys, project, "--embedding", "ones-1") == (0, COMPUTED.format("with ones-1"))
    assert n_columns(project) == before + 1
    assert segment(capsys, project, "--embedding", "none") == (0, COMPUTED.format("without an embedding"))
    assert n_columns(project) == before
