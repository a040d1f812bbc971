"""The benchmark: which variants a file has, what is measured, and that true labels stay hidden from learning."""

import json

import numpy as np
import pytest

from miml_core import BagtagError
from miml_core.__main__ import main
from miml_core.evaluation.benchmark import bag_folds, correct_some, measure
from miml_core.evaluation.data_sets import DataSet, find_sets


def write_set(path, *, unlabelled: bool, honest_tags: bool = True, seed: int = 0) -> np.ndarray:
    """Two classes of blobs in 24 bags of three segments, in the layout of the benchmark."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 72)
    X = np.array([[0.0, 0.0], [4.0, 1.0]])[truth] + 0.5 * rng.standard_normal((72, 2))
    bag_id = np.repeat(np.arange(24), 3)
    tags = np.zeros((24, 2), np.uint8)
    tags[bag_id, truth] = 1
    if not honest_tags:
        tags[0] = 1 - tags[0] if tags[0].sum() == 1 else [1, 0]
    if unlabelled:
        truth = np.where(rng.random(72) < 0.3, -1, truth)
    np.savez(path, X=X, bag_id=bag_id, bag_label_matrix=tags, instance_label=truth, class_names=["wren", "robin"])
    return truth


def test_variants_follow_from_the_truth_not_from_the_name(tmp_path):
    write_set(tmp_path / "a.npz", unlabelled=False)
    write_set(tmp_path / "b.npz", unlabelled=True)
    write_set(tmp_path / "c.npz", unlabelled=False, honest_tags=False)
    names = [one.name for one in find_sets(tmp_path)]
    assert names == ["a", "b union", "b filtered", "b unfiltered", "c union", "c filtered"]
    union = find_sets(tmp_path, ["c union"])[0]
    present = {(bag, label) for bag, label in zip(union.bags.bag_of, union.truth)}
    assert present == set(map(tuple, np.argwhere(union.bags.tags > 0)))


def test_filtered_sets_have_known_segments_only(tmp_path):
    truth = write_set(tmp_path / "b.npz", unlabelled=True)
    union, filtered, unfiltered = find_sets(tmp_path)
    assert filtered.bags.n_segments == union.bags.n_segments == (truth >= 0).sum()
    assert unfiltered.bags.n_segments == 72
    assert (unfiltered.truth == truth).all()
    assert not (filtered.truth < 0).any()


def test_a_row_has_accuracies_and_bag_measures(tmp_path):
    write_set(tmp_path / "a.npz", unlabelled=False)
    (data,) = find_sets(tmp_path)
    steps = []
    row = measure(data, "ored-lr", folds=3, seed=0, progress=lambda *now: steps.append(now))
    assert steps == [(step, 4, {}) for step in (1, 2, 3, 4)]
    assert row["transductive"] > 95
    assert row["inductive"] > 90
    assert row["ranking_loss"] < 0.05
    assert row["seconds"] > 0
    assert "transductive_background_free" not in row


def test_a_background_class_is_judged_free_to_win_as_well(tmp_path):
    write_set(tmp_path / "b.npz", unlabelled=True)
    (data,) = find_sets(tmp_path, ["unfiltered"])
    row = measure(data, "ored-lr", folds=0, seed=0)
    assert 80 < row["transductive_background_free"] <= row["transductive"]
    assert 0 <= row["background_of_unlabelled"] <= 100


def test_learning_never_sees_true_labels(tmp_path):
    """The same bags with a scrambled truth give the same predictions, hence another accuracy."""
    write_set(tmp_path / "a.npz", unlabelled=False)
    (data,) = find_sets(tmp_path)
    lying = DataSet(data.file, data.variant, data.bags, 1 - data.truth)
    honest, scrambled = (measure(one, "ored-lr", folds=0, seed=0)["transductive"] for one in (data, lying))
    assert honest + scrambled == pytest.approx(100)


def test_folds_cover_every_bag_once():
    tested = np.concatenate([test for _, test in bag_folds(23, 5, seed=1)])
    assert sorted(tested) == list(range(23))
    for train, test in bag_folds(23, 5, seed=1):
        assert not set(train) & set(test)


def test_corrections_reveal_their_share_and_score_the_rest(tmp_path):
    write_set(tmp_path / "a.npz", unlabelled=False)
    (data,) = find_sets(tmp_path)
    bags, revealed = correct_some(data, 0.25, seed=0)
    assert revealed.sum() == 18
    assert (bags.labels[revealed] == data.truth[revealed]).all()
    assert (bags.labels[~revealed] == -1).all()


def test_the_command_writes_its_figures(tmp_path, capsys):
    write_set(tmp_path / "a.npz", unlabelled=False)
    out = tmp_path / "figures.json"
    call = ["bench", "--data", str(tmp_path), "--models", "ored-lr,majority", "--folds", "2", "--json", str(out)]
    assert main(call) == 0
    rows = json.loads(out.read_text())["rows"]
    assert [row["model"] for row in rows] == ["ored-lr", "majority"]
    assert rows[0]["transductive"] > rows[1]["transductive"]
    assert "with tags" in capsys.readouterr().out
    assert main([*call[:3], "--models", "ored-lr", "--corrections", "0,20", "--json", str(out)]) == 0
    assert set(json.loads(out.read_text())["rows"][0]["accuracy_on_the_rest"]) == {"0", "20"}


def test_what_cannot_be_measured_is_reported_in_a_sentence(tmp_path, capsys):
    with pytest.raises(BagtagError, match=r"no \.npz or \.arff"):
        find_sets(tmp_path)
    write_set(tmp_path / "a.npz", unlabelled=False)
    assert main(["bench", "--data", str(tmp_path), "--models", "oracle"]) == 1
    assert "There is no model called 'oracle'" in capsys.readouterr().err


def test_a_bad_file_does_not_stop_the_others(tmp_path, capsys):
    write_set(tmp_path / "a.npz", unlabelled=False)
    (tmp_path / "b.npz").write_bytes(b"not a set of arrays")
    out = tmp_path / "figures.json"
    call = ["bench", "--data", str(tmp_path), "--models", "majority", "--folds", "0", "--json", str(out)]
    assert main(call) == 1
    assert "b.npz is not a bag file" in capsys.readouterr().err
    figures = json.loads(out.read_text())
    assert [row["set"] for row in figures["rows"]] == ["a"]
    assert len(figures["refused"]) == 1
