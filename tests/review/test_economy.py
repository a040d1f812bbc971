"""The simulated annotator: what its work costs, that it stops by itself, and that its labels are those of the app."""

import json

import numpy as np
import pytest

from miml_core import BACKGROUND, UNKNOWN, BagSet
from miml_core.__main__ import main
from miml_core.review import economy, economy_tagging
from miml_core.review.annotator import ACCEPTED, CORRECTED, SCREEN, TILE, TYPED, AccuracyCurve, Point
from miml_core.review.economy import TARGET, label_one_by_one, predicted_errors, review_least_sure, review_wall
from miml_core.review.economy_tagging import TaggedBags, count_suggested, tag_bags


def calls(n_bags: int = 60, spread: float = 1.0, seed: int = 0) -> tuple[BagSet, np.ndarray]:
    """Bags of ten segments of one or two of four species."""
    rng = np.random.default_rng(seed)
    pair = rng.integers(0, 4, (n_bags, 2))
    truth = pair[np.arange(n_bags)[:, None], rng.integers(0, 2, (n_bags, 10))]
    X = 3.0 * np.eye(4)[truth.ravel()] + spread * rng.standard_normal((10 * n_bags, 4))
    tags = np.full((n_bags, 4), -1)
    tags[np.repeat(np.arange(n_bags), 10), truth.ravel()] = 1
    return BagSet(X, np.arange(n_bags + 1) * 10, tags, list("abcd")), truth.ravel()


@pytest.fixture(scope="module")
def tagged_calls() -> tuple[BagSet, np.ndarray, TaggedBags]:
    bags, truth = calls(40, spread=1.4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(economy_tagging, "GROWTH", 1.5)
        return bags, truth, tag_bags(bags, truth)


def blind_model(bags: BagSet) -> object:
    """A model that always predicts the last class, with little certainty, and never learns."""

    class Blind:
        def annotate(self, bags: BagSet) -> np.ndarray:
            rows = np.tile([0.1, 0.2, 0.3, 0.4], (bags.n_segments, 1))
            known = bags.labels != UNKNOWN
            rows[known] = np.eye(4)[bags.labels[known]]
            return rows

    return Blind()


@pytest.mark.parametrize(
    ("review", "right", "wrong"), [(review_wall, TILE, TILE + CORRECTED), (review_least_sure, ACCEPTED, CORRECTED)]
)
def test_the_seconds_of_a_review_are_those_of_its_actions(monkeypatch, review, right, wrong):
    bags, truth = calls()
    model = blind_model(bags)
    monkeypatch.setattr(economy, "fit_model", lambda known, earlier=None: model)
    monkeypatch.setattr(economy, "MOST_SECONDS", 10.0)
    monkeypatch.setattr(economy, "TARGET", 1.0)
    curve = review(bags, truth, model)
    n_right = int((truth == 3).sum())
    assert curve.points[0] == Point(0.0, round(n_right / len(truth), 4))
    first = curve.points[1]
    assert first.seconds == pytest.approx(sum(np.where(truth[:SCREEN] == 3, right, wrong)), abs=0.1)
    assert curve.points[-1].accuracy == 1.0
    until_all_right = right * n_right + wrong * (len(truth) - n_right)
    assert curve.points[-1].seconds <= until_all_right + 0.1
    accuracies = [point.accuracy for point in curve.points]
    assert accuracies == sorted(accuracies)


def test_tags_cost_less_where_they_are_suggested(tagged_calls):
    bags, _, tagged = tagged_calls
    n_tags = int((bags.tags > 0).sum())
    assert tagged.typed[-1] == TYPED * n_tags
    assert 0 < tagged.n_suggested < n_tags
    assert tagged.suggested[-1] == ACCEPTED * tagged.n_suggested + TYPED * (n_tags - tagged.n_suggested)
    assert tagged.accuracies[-1] > tagged.accuracies[0]


def test_tagging_ends_when_the_wall_corrects_more_per_second(tagged_calls, monkeypatch):
    bags, truth, tagged = tagged_calls
    assert (tagged.some.tags == bags.tags).all(), "too few bags to ask"
    monkeypatch.setattr(economy_tagging, "LEAST_BATCHES", 3)
    monkeypatch.setattr(economy_tagging, "GROWTH", 1.5)
    monkeypatch.setattr(economy_tagging, "count_changed", lambda model, before, after: 0)
    some = tag_bags(bags, truth).some
    is_tagged = (some.tags != 0).any(axis=1)
    assert 0 < is_tagged.sum() < bags.n_bags and (some.tags[is_tagged] == bags.tags[is_tagged]).all()
    assert 0 < some.seconds < tagged.suggested[-1]
    curve = review_wall(bags.replace(tags=some.tags), truth, some.model)
    assert curve.reached(TARGET) is not None, "the wall has the segments of untagged bags, too"


def test_only_suggestions_that_are_shown_count():
    tags = np.array([[1] * 10 + [-1] * 10])
    assert count_suggested(np.full((1, 20), 0.9), tags) == 8
    assert count_suggested(np.full((1, 20), 0.09), tags) == 0


def test_the_annotator_reaches_the_target_and_stops_without_knowing_the_truth(tagged_calls):
    bags, truth, tagged = tagged_calls
    assert tagged.accuracies[-1] < TARGET
    curve = review_wall(bags, truth, tagged.model)
    assert curve.stopped is not None and curve.stopped.accuracy > TARGET - 0.02
    assert tagged.typed[-1] + curve.reached(TARGET) < 0.5 * TYPED * bags.n_segments


def test_errors_are_predicted_by_doubt_and_by_what_was_wrong_before():
    assert predicted_errors(np.zeros(5), [0.5], [True]) == 0.0
    assert predicted_errors(np.full(10, 0.5), [0.5] * 4, [True, False] * 2) == 5.0
    assert predicted_errors(np.full(10, 0.5), [0.5] * 4, [False] * 4) == 0.0


def test_a_way_that_never_reaches_the_accuracy():
    assert AccuracyCurve([Point(1.0, 0.5)]).reached(0.95) is None


def test_one_by_one_every_label_is_typed(monkeypatch):
    monkeypatch.setattr(economy, "LABELLED_SHARES", (0.2, 0.5))
    bags, truth = calls(12)
    truth[:3] = BACKGROUND
    curve = label_one_by_one(bags, truth)
    assert curve.points[-1] == Point(TYPED * bags.n_segments, 1.0)
    assert [point.seconds for point in curve.points] == sorted(point.seconds for point in curve.points)


def test_figures_are_printed_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(economy, "LABELLED_SHARES", (0.2,))
    monkeypatch.setattr(economy_tagging, "GROWTH", 2.0)
    bags, truth = calls(12, spread=0.5)
    (tmp_path / "miml").mkdir()
    np.savez(
        tmp_path / "miml" / "calls.npz",
        X=bags.X,
        bag_id=bags.bag_of,
        bag_label_matrix=(bags.tags > 0).astype(np.uint8),
        instance_label=truth,
        class_names=np.array(bags.classes),
    )
    assert main(["bench-economy", "--data", str(tmp_path), "--json", str(tmp_path / "out.json"), "--seeds", "2"]) == 0
    printed = capsys.readouterr().out
    assert "calls: 120 segments" in printed and "2 seeds" in printed
    first, second = json.loads((tmp_path / "out.json").read_text())["calls"]
    assert first["ways"] != second["ways"], "seeds determine the order of the bags"
    written = second
    assert written["one_by_one_seconds"] == 360
    assert set(written["ways"]) == {
        "segments one by one",
        "some tags and wall, with suggestions",
        *(
            f"{way}{how}"
            for way in ("tags only", "tags and least sure", "tags and wall")
            for how in ("", ", with suggestions")
        ),
    }
    for way in written["ways"].values():
        seconds = [point["seconds"] for point in way["points"]]
        assert seconds == sorted(seconds) and all(0 <= point["accuracy"] <= 1 for point in way["points"])


@pytest.mark.parametrize(
    "wrong", [["--data", "missing"], ["--data", ".", "--json", "no/folder/out.json"], ["--data", "."]]
)
def test_wrong_calls_end_with_a_sentence(tmp_path, monkeypatch, capsys, wrong):
    monkeypatch.chdir(tmp_path)
    assert main(["bench-economy", *wrong]) == 1
    assert capsys.readouterr().err.startswith("bagtag: ")
