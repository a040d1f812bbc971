"""Suggested tags: what BirdNET detects, what the run predicts, what is left out by place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from miml_core import BagtagError
from miml_core.features.birdnet import BirdnetStatus, find_species, score_clip, species_list
from miml_core.media.recording_place import Place
from miml_core.project import BagSuggestions, Project
from miml_core.project.instances.timelines import window_embeddings_of_bag
from miml_core.project.suggestions import detected_species as detecting
from miml_core.project.suggestions import suggest as suggesting
from tests.birdnet import needs_birdnet
from tests.project.conftest import add_bags, store_run

Detect = Callable[..., None]


@pytest.fixture
def detect(monkeypatch: pytest.MonkeyPatch) -> Detect:
    """`detect(Great_Tit=0.9)`: BirdNET detects these species in every bag."""

    def set_scores(**scores: float) -> None:
        found = {index_of(name.replace("_", " ")): score for name, score in scores.items()}
        monkeypatch.setattr(suggesting, "detected_species", lambda store, bag_id: found)

    return set_scores


def index_of(name: str) -> int:
    species = find_species(name)
    assert species is not None, name
    return species.index


def shown(found: BagSuggestions) -> list[tuple[int | None, str, float, str]]:
    return [(one.class_id, one.name, one.probability, one.source) for one in found.items]


@needs_birdnet
def test_species_are_offered_as_new_classes_with_both_names(project: Project, detect: Detect) -> None:
    (bag,) = add_bags(project, 1)
    detect(Great_Tit=0.9, Eurasian_Blackcap=0.3, Eurasian_Wren=0.09)
    found = project.suggestions.of_bag(bag)
    assert shown(found) == [(None, "Great Tit", 0.9, "BirdNET"), (None, "Eurasian Blackcap", 0.3, "BirdNET")]
    assert [one.scientific_name for one in found.items] == ["Parus major", "Sylvia atricapilla"]
    assert found.analysed and not found.problem and found.place is None


@needs_birdnet
def test_all_classes_of_a_species_get_its_score(project: Project, detect: Detect) -> None:
    (bag,) = add_bags(project, 1)
    song, call = (project.edits.add_class(name).id for name in ("Parmaj_song", "Great tit (call)"))
    other = project.edits.add_class("Kohlmeise", scientific_name="Parus major").id
    detect(Great_Tit=0.06)
    expected = [(song, "Parmaj_song"), (call, "Great tit (call)"), (other, "Kohlmeise")]
    assert shown(project.suggestions.of_bag(bag)) == [(*one, 0.06, "BirdNET") for one in expected]


@needs_birdnet
def test_at_most_eight_and_no_noise(project: Project, detect: Detect) -> None:
    (bag,) = add_bags(project, 1)
    names = [one.common.replace(" ", "_") for one in species_list()[:10]]
    detect(**dict.fromkeys(names, 0.5), Engine=0.9, Noise=0.9)
    found = project.suggestions.of_bag(bag)
    assert len(found.items) == suggesting.MOST_SUGGESTIONS
    assert "Engine" not in {one.name for one in found.items}
    engine = project.edits.add_class("Engine").id
    assert shown(project.suggestions.of_bag(bag))[0] == (engine, "Engine", 0.9, "BirdNET")


@needs_birdnet
def test_species_of_other_places_are_left_out_but_classes_and_frogs_stay(project: Project, detect: Detect) -> None:
    (bag,) = add_bags(project, 1)
    detect(Great_Tit=0.9, House_Finch=0.8, Northern_Cardinal=0.7, American_Bullfrog=0.6)
    cardinal = project.edits.add_class("Northern Cardinal").id
    project.set_place(Place(43.6, 3.9))
    found = project.suggestions.of_bag(bag)
    assert [(one.class_id, one.name) for one in found.items] == [
        (None, "Great Tit"),
        (cardinal, "Northern Cardinal"),
        (None, "American Bullfrog"),
    ]
    assert found.place == Place(43.6, 3.9)


@needs_birdnet
def test_the_week_counts_where_the_date_is_known(project: Project, detect: Detect) -> None:
    """The common swift is away from the south of France in January."""
    bags = add_bags(project, 2)
    project.set_place(Place(43.6, 3.9))
    detect(Common_Swift=0.9)
    with project.store.write() as connection:
        connection.exec_driver_sql("UPDATE media SET recorded_from = 'name'")
        connection.exec_driver_sql(f"UPDATE bags SET recorded_at = '2024-01-10T05:00:00' WHERE id = {bags[1]}")
    in_may, in_january = (project.suggestions.of_bag(bag) for bag in bags)
    assert (in_may.week, [one.name for one in in_may.items]) == (16, ["Common Swift"])
    assert (in_january.week, in_january.items) == (2, [])


@needs_birdnet
def test_the_run_counts_for_its_classes_and_birdnet_for_the_others(small: Project, detect: Detect) -> None:
    """The run predicts Wren .9, Robin .5 and Owl .1 for every bag."""
    run = store_run(small, lambda n: np.tile([0.6, 0.3, 0.0, 0.1], (n, 1)))
    later = small.edits.add_class("Great Tit").id
    detect(Eurasian_Wren=0.4, Great_Tit=0.7, Long_eared_Owl=0.6, Eurasian_Blackcap=0.3)
    assert shown(small.suggestions.of_bag(1)) == [
        (1, "Wren", pytest.approx(0.9, abs=1e-3), f"run {run} + BirdNET"),
        (later, "Great Tit", 0.7, "BirdNET"),
        (None, "Long-eared Owl", 0.6, "BirdNET"),
        (2, "Robin", pytest.approx(0.5, abs=1e-3), f"run {run}"),
        (None, "Eurasian Blackcap", 0.3, "BirdNET"),
    ]


def test_without_birdnet_the_reason_comes_with_what_the_run_suggests(
    predicted: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = BirdnetStatus(False, "BirdNET is not installed; install it with 'make birdnet'.", "")
    monkeypatch.setattr("miml_core.project.suggestions.suggest.birdnet_status", lambda: missing)
    found = predicted.suggestions.of_bag(1)
    assert found.problem == f"{missing.reason} Its weights are licensed CC BY-NC-SA 4.0."
    assert [one.name for one in found.items] == ["Wren", "Robin"]
    assert not found.analysed


@needs_birdnet
@pytest.mark.parametrize(("rate", "seconds"), [(8_000, 1.0), (192_000, 1.0)])
def test_an_unsuitable_rate_is_a_sentence(tmp_path: Path, project: Project, rate: int, seconds: float) -> None:
    soundfile.write(tmp_path / "night.wav", np.zeros(int(seconds * rate)), rate)
    (bag,) = project.media.add([tmp_path / "night.wav"])
    found = project.suggestions.of_bag(bag)
    assert found.problem.startswith(f"night.wav has a sample rate of {rate / 1000:g} kHz, and BirdNET supports 16 to")
    assert found.items == []


@needs_birdnet
def test_a_missing_file_is_a_sentence(tmp_path: Path, project: Project) -> None:
    bag = noise_bag(project, tmp_path / "gone.wav")
    (tmp_path / "gone.wav").unlink()
    assert "gone.wav" in project.suggestions.of_bag(bag).problem


def test_pictures_are_not_listened_to(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (40, 30)).save(tmp_path / "meadow.png")
    with Project.create(tmp_path / "pictures", kind="picture") as project:
        (bag,) = project.media.add([tmp_path / "meadow.png"])
        assert project.suggestions.of_bag(bag) == BagSuggestions()


def noise_bag(project: Project, path: Path, seconds: float = 4.0, seed: int = 0) -> int:
    soundfile.write(path, np.random.default_rng(seed).normal(0, 0.05, int(seconds * 24_000)), 24_000)
    (bag,) = project.media.add([path])
    return bag


@needs_birdnet
def test_a_bag_is_listened_to_once(tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    bag = noise_bag(project, tmp_path / "rain.wav")
    first = detecting.detected_species(project.store, bag)
    scores = score_clip(tmp_path / "rain.wav", 0.0, 4.0)
    np.testing.assert_allclose(list(first.values()), scores[list(first)], atol=2e-3)  # kept in half precision
    assert list(first.values()) == sorted(first.values(), reverse=True) and len(first) == detecting.N_KEPT
    assert scores.argmax() in list(first)[:3]
    monkeypatch.setattr(detecting, "_scores_of_bag", _refuse)
    assert detecting.detected_species(project.store, bag) == first


@needs_birdnet
def test_a_bag_and_its_segments_are_listened_to_once(tmp_path: Path, project: Project, monkeypatch: Any) -> None:
    """The scores come from the timeline that the features of segments are made from, and the other way round."""
    bag = noise_bag(project, tmp_path / "rain.wav")
    before = window_embeddings_of_bag(project.store, bag)
    monkeypatch.setattr("miml_core.features.birdnet.embedding.run_frames", _refuse)
    assert detecting.detected_species(project.store, bag)
    np.testing.assert_array_equal(window_embeddings_of_bag(project.store, bag), before)


@needs_birdnet
def test_a_long_bag_is_sampled_without_a_timeline(tmp_path: Path, project: Project, monkeypatch: Any) -> None:
    bag = noise_bag(project, tmp_path / "night.wav", seconds=60.0)
    monkeypatch.setattr(detecting, "window_embeddings_of_bag", _refuse)
    assert len(detecting.detected_species(project.store, bag)) == detecting.N_KEPT


def _refuse(*arguments: Any) -> np.ndarray:
    raise BagtagError("It is computed again.")


@needs_birdnet
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"species": 3}', b'{"species": []}', b'{"species": [[1e999, 1]]}', b'{"species": [[1, 2.0]]}',
     b'{"species": [[-1, 0.5]]}', b'{"species": [[99999, 0.5]]}', b'{"species": [["1", 0.5]]}', b"[" * 100_000],
)  # fmt: skip
def test_a_foreign_cache_is_not_believed(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    scores = np.zeros(6522, dtype=np.float32)
    scores[17] = 0.5
    monkeypatch.setattr(detecting, "_scores_of_bag", lambda *arguments: scores)
    bag = noise_bag(project, tmp_path / "rain.wav")
    detecting.detected_species(project.store, bag)
    (file,) = (project.folder / "cache" / "birdnet-scores").iterdir()
    file.write_bytes(content)
    assert next(iter(detecting.detected_species(project.store, bag).items())) == (17, 0.5)
    assert json.loads(file.read_bytes())["species"][0] == [17, 0.5]


@needs_birdnet
def test_threads_that_ask_for_the_same_bag_share_the_work(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    calls: list[int] = []

    def scores(*arguments: Any) -> np.ndarray:
        calls.append(1)
        return np.linspace(0, 1, 6522, dtype=np.float32)

    monkeypatch.setattr(detecting, "_scores_of_bag", scores)
    bag = noise_bag(project, tmp_path / "rain.wav")
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: detecting.detected_species(project.store, bag), range(6)))
    assert len(calls) == 1 and all(one == found[0] for one in found)


@needs_birdnet
def test_a_real_recording_of_a_linnet(data_dir: Path, project: Project) -> None:
    project.media.add([data_dir / "audio" / "nips4bplus" / "flac" / "nips4b_birds_trainfile020.flac"])
    best = project.suggestions.of_bag(1).items[0]
    assert (best.name, best.scientific_name) == ("Eurasian Linnet", "Linaria cannabina")
    assert best.probability > 0.9
