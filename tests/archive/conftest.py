"""A small trained model as a bundle, and a small survey of two sites and three days."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miml_core import BagSet
from miml_core.archive import run
from miml_core.archive.bundle import BundleClass, write_bundle
from miml_core.instances import InstanceSettings, sound_instances
from miml_core.models import MODELS
from tests.project.sounds import RATE, SPECIES, write_recordings

CLIP_SECONDS = 2.4
N_PER_SITE = 12


def make_bundle(folder: Path, settings: InstanceSettings) -> Path:
    """Train a model on a few clips and write it as a bundle."""
    heard = write_recordings(folder / "train", 8, seconds=CLIP_SECONDS)
    found = [sound_instances(folder / "train" / name, 0.0, CLIP_SECONDS, settings).X for name in heard]
    offsets = np.cumsum([0, *map(len, found)])
    tags = [[1 if name in present else -1 for name in SPECIES] for present in heard.values()]
    model = MODELS["ored-lr"](alpha=0.01, background=True, leak=0.01)
    model.fit(BagSet(np.concatenate(found), offsets, tags, list(SPECIES)))
    model.save(folder / "model.npz")
    write_bundle(
        folder / "model.bagtag",
        kind="sound",
        classes=[BundleClass(name) for name in SPECIES],
        settings=settings,
        clip_seconds=CLIP_SECONDS,
        model_file=(folder / "model.npz").read_bytes(),
        segmenter_file=None,
        provenance={"bagtag": "0.2.0", "project": "test"},
    )
    return folder / "model.bagtag"


def make_survey(folder: Path, per_site: int = N_PER_SITE) -> Path:
    """Write recordings of 4.8 s: two sites, three days, and a file that is no recording."""
    for seed, site in enumerate(("hill", "marsh")):
        write_recordings(folder / site, per_site, seconds=2 * CLIP_SECONDS, seed=seed)
        for k, path in enumerate(sorted((folder / site).glob("*.wav"))):
            path.rename(path.with_name(f"2024050{1 + k % 3}_{k:02d}0000.wav"))
    (folder / "marsh" / "20240501_230000.wav").write_bytes(b"no sound")
    return folder


def do_here(patch: pytest.MonkeyPatch) -> None:
    """Do the tasks in this process, without Dask."""

    class Here:
        dashboard_link = None

    def run_here(client: Any, work: Any, items: Any, *arguments: Any, key: Any) -> Any:
        for item in items:
            yield item, work(item, *arguments)

    patch.setattr(run, "connect", lambda scheduler, workers: nullcontext(Here()))
    patch.setattr(run, "run_bounded", run_here)


@pytest.fixture(scope="session")
def bundle_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a model that knows the species of `tests.project.sounds`."""
    return make_bundle(tmp_path_factory.mktemp("bundle"), InstanceSettings.for_rate(RATE))


@pytest.fixture(scope="session")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings that no test changes."""
    return make_survey(tmp_path_factory.mktemp("recordings") / "survey")
