"""BagSet: what it holds, how it is cut and joined, what it reads, and what it refuses."""

import numpy as np
import pytest

from miml_core import BACKGROUND, UNKNOWN, BagSet, BagtagError
from miml_core.bags import FeatureGroup


def make(**changes):
    values = {
        "X": np.arange(12.0).reshape(6, 2),
        "offsets": [0, 1, 3, 6],
        "tags": [[1, -1], [0, 1], [-1, -1]],
        "classes": ["wren", "robin"],
        "labels": [0, UNKNOWN, 1, BACKGROUND, UNKNOWN, UNKNOWN],
    }
    return BagSet(**{**values, **changes})


def test_what_it_holds():
    bags = make()
    assert (bags.n_bags, bags.n_segments, bags.n_classes) == (3, 6, 2)
    assert bags.bag_of.tolist() == [0, 1, 1, 2, 2, 2]
    assert bags.rows(1) == slice(1, 3)
    assert (make(labels=None).labels == UNKNOWN).all()


@pytest.mark.parametrize("chosen", [[2, 0], np.array([True, False, True]), slice(1, None)])
def test_slices_are_whole_bags_in_the_order_asked_for(chosen):
    bags = make(names=["a", "b", "c"])
    part = bags[chosen]
    numbers = np.arange(3)[chosen]
    assert part.names == [bags.names[number] for number in numbers]
    for place, number in enumerate(numbers):
        assert (part.X[part.rows(place)] == bags.X[bags.rows(number)]).all()
        assert (part.labels[part.rows(place)] == bags.labels[bags.rows(number)]).all()
        assert (part.tags[place] == bags.tags[number]).all()


def test_parts_put_together_are_the_whole():
    bags = make()
    whole = BagSet.concatenate([bags[:1], bags[1:]])
    for name in ("X", "offsets", "tags", "labels"):
        assert (getattr(whole, name) == getattr(bags, name)).all()
    with pytest.raises(BagtagError, match="different classes"):
        BagSet.concatenate([bags, make(classes=["wren", "owl"])])


def test_a_split_is_by_bag_and_the_same_for_the_same_seed():
    bags = make(names=["a", "b", "c"])
    train, test = bags.split(0.6, random_state=5)
    assert sorted(train.names + test.names) == ["a", "b", "c"]
    assert bags.split(0.6, random_state=5)[0].names == train.names
    with pytest.warns(DeprecationWarning, match="random_state"):
        assert bags.split(0.6, seed=5)[0].names == train.names
    with pytest.raises(BagtagError, match="share"):
        bags.split(1.5)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"X": np.where(np.arange(12).reshape(6, 2) == 7, np.nan, 1.0)}, r"Feature 1 of segment 0 of bag 2"),
        ({"X": np.where(np.arange(12).reshape(6, 2) == 2, np.inf, 1.0)}, r"segment 0 of bag 1"),
        ({"offsets": [0, 3, 3, 6]}, r"bag 1 has no segments"),
        ({"offsets": [0, 1, 3, 5]}, r"end of bag 2"),
        ({"tags": [[1, -1], [0, 3], [-1, -1]]}, r"bag 1 is neither"),
        ({"tags": [[1, -1], [0, 1]]}, r"\(3, 2\)"),
        ({"labels": [0, 7, -1, -1, -1, -1]}, r"Label 7 of segment 0 of bag 1"),
        ({"labels": [1, -1, -1, -1, -1, -1]}, r"segment 0 of bag 0 is labelled 'robin'|Segment 0 of bag 0 is labelled"),
        ({"labels": [0, 1]}, r"one label per segment"),
        ({"classes": ["wren", "wren"]}, r"same name"),
        ({"classes": [], "tags": np.zeros((3, 0)), "labels": None}, r"at least one class; add a class"),
        ({"classes": ["wren", ""]}, r"Class 1 has no name; give every class a name"),
        ({"classes": [" ", "wren"]}, r"Class 0 has no name"),
        (
            {"X": np.where(np.arange(12).reshape(6, 2) == 3, -1e301, 1.0)},
            r"Feature 1 of segment 0 of bag 1 is -1e\+301",
        ),
        ({"X": np.zeros(6)}, r"table of segments"),
        ({"offsets": [0]}, r"at least one bag"),
        ({"tags": [[257, -1], [0, 1], [-1, -1]]}, r"Tags must be \+1, -1 or 0, but row 0 has 257"),
        ({"tags": np.array([[1, 0], [0, 255], [0, 0]], dtype=np.uint8)}, r"row 1 has 255"),
        ({"tags": [[1, -1], [0, -128], [-1, -1]]}, r"bag 1 is neither"),
        ({"tags": [[1, -1], [0, 0.5], [-1, -1]]}, r"row 1 has 0\.5"),
        ({"tags": [[1, -1], [0, 1], [np.nan, -1]]}, r"row 2 has nan"),
        ({"tags": [["wren"], ["robin"], [""]]}, r"Tags must be numbers"),
        ({"tags": [[1, -1], [0], [-1, -1]]}, r"Tags must be numbers, in rows of equal length"),
        ({"tags": None}, r"Tags must be"),
        ({"labels": [0.7, -1, -1, -1, -1, -1]}, r"Labels must be whole numbers, but row 0 has 0\.7"),
        ({"labels": [0, 10**30, -1, -1, -1, -1]}, r"row 1 has 1e\+30"),
        ({"labels": [0, 10**400, -1, -1, -1, -1]}, r"Labels must be numbers"),
        ({"labels": list("abcdef")}, r"Labels must be numbers"),
        ({"offsets": [0, 1.5, 3, 6]}, r"Offsets must be whole numbers, but row 1 has 1\.5"),
        ({"offsets": [0, 1, np.inf, 6]}, r"row 2 has inf"),
        ({"X": np.ones((6, 2)) + 1j}, r"Features must be numbers"),
        ({"X": [["a", "b"]] * 6}, r"Features must be numbers"),
        ({"X": [[1.0]] * 5 + [[1.0, 2.0]]}, r"rows of equal length"),
        ({"X": None}, r"table of segments"),
    ],
)
def test_bad_input_is_refused_by_name(changes, expected):
    with pytest.raises(BagtagError, match=expected):
        make(**changes)


def test_messages_use_the_names_of_bags():
    with pytest.raises(BagtagError, match=r"dawn\.wav"):
        make(names=["a", "dawn.wav", "c"], labels=[0, 7, -1, -1, -1, -1])


def test_npz_in_the_benchmark_layout(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        X=np.ones((3, 2), np.float32),
        bag_id=np.array([0, 0, 1], np.int32),
        bag_label_matrix=np.array([[1, 0], [0, 0]], np.uint8),
        instance_label=np.array([0, -1, 1], np.int32),
        class_names=np.array(["wren", "robin"]),
    )
    bags = BagSet.from_npz(tmp_path / "a.npz")
    assert bags.tags.tolist() == [[1, -1], [-1, -1]]
    assert (bags.labels == UNKNOWN).all(), "true labels are for scoring, not for learning"
    assert bags.offsets.tolist() == [0, 2, 3]


def test_files_that_are_something_else_are_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"not a zip")
    with pytest.raises(BagtagError, match=r"a\.npz"):
        BagSet.from_npz(tmp_path / "a.npz")
    with pytest.raises(BagtagError, match="no file"):
        BagSet.from_npz(tmp_path / "missing.npz")
    (tmp_path / "b.arff").write_text("@relation x\n@attribute a numeric\n@data\n1\n")
    with pytest.raises(BagtagError, match="relational"):
        BagSet.from_arff(tmp_path / "b.arff")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"X": np.array(3.0)}, "X must have 2 dimensions"),
        ({"X": np.array([["a"]] * 3)}, "X must be numbers"),
        ({"bag_id": np.array(["a", "a", "b"])}, "bag_id must be numbers"),
        ({"bag_id": [0, 0.5, 1]}, "bag_id must be whole numbers"),
        ({"bag_id": [[0, 0, 1]]}, "bag_id must have 1 dimension"),
        ({"bag_id": [0, 1]}, "3 segments but 2 bag ids"),
        ({"bag_id": [0, 1, 2]}, "sorted and between 0 and 1"),
        ({"bag_label_matrix": [1, 0]}, "bag_label_matrix must have 2 dimensions"),
        ({"bag_label_matrix": np.array([["1", "0"]] * 2)}, "bag_label_matrix must be numbers"),
        ({"class_names": np.array("ab")}, "class_names must have 1 dimension"),
        ({"class_names": ["wren"]}, "1 class names but tags of 2"),
    ],
)
def test_arrays_of_a_file_that_are_something_else_are_refused_with_the_file(tmp_path, changes, expected):
    arrays = {
        "X": np.ones((3, 2)),
        "bag_id": [0, 0, 1],
        "bag_label_matrix": [[1, 0], [0, 1]],
        "class_names": ["a", "b"],
    }
    np.savez(tmp_path / "a.npz", **{**arrays, **changes})
    with pytest.raises(BagtagError, match=rf"a\.npz: .*{expected}"):
        BagSet.from_npz(tmp_path / "a.npz")


def test_a_single_array_is_no_bag_file(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    with pytest.raises(BagtagError, match=r"a\.npy is not a bag file"):
        BagSet.from_npz(tmp_path / "a.npy")


ARFF = """@relation birds
@attribute id {{1,2}}
@attribute bag relational
  @attribute f0 numeric
  @attribute f1 numeric
@end bag
@attribute wren {{0,1}}
@attribute robin {{0,1}}
@data
1, "0.5, 1.0\\n2.0, {value}", 1, 0
2, "4.0, 5.0", 0, 1
"""


def test_a_relational_arff(tmp_path):
    path = tmp_path / "birds.arff"
    path.write_text(ARFF.format(value="3.0"))
    bags = BagSet.from_arff(path)
    assert bags.X.tolist() == [[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert bags.tags.tolist() == [[1, -1], [-1, 1]]
    assert (bags.classes, bags.names) == (["wren", "robin"], ["1", "2"])
    path.write_text(ARFF.format(value="x"))
    with pytest.raises(BagtagError, match="bag '1'"):
        BagSet.from_arff(path)


def test_the_real_files(data_dir):
    birds = BagSet.from_arff(data_dir / "miml" / "mlsp2013_birds.arff")
    assert (birds.n_bags, birds.n_segments, birds.X.shape[1], birds.n_classes) == (257, 2062, 38, 19)
    hja = BagSet.from_npz(data_dir / "miml" / "hja_birdsong.npz")
    assert (hja.n_bags, hja.n_segments, hja.n_classes) == (548, 10232, 13)


def test_groups_and_pretrained_weights_stay_with_the_bags() -> None:
    groups = [FeatureGroup("hand-made", 1), FeatureGroup("embedding", 2)]
    pretrained = [[0.0, 0.0], [1.0, np.nan], [2.0, np.nan], [3.0, np.nan]]
    X = np.arange(9.0).reshape(3, 3)
    bags = BagSet(X, [0, 2, 3], [[1, 1], [0, 1]], ["wren", "robin"], groups=groups, pretrained=pretrained)
    whole = BagSet.concatenate([bags[[1]], bags.replace(tags=-bags.tags)])
    assert whole.groups == tuple(groups)
    assert whole.pretrained is not None
    np.testing.assert_array_equal(whole.pretrained, pretrained)
    other = bags.replace(X=X[:, :2])
    assert other.groups == (FeatureGroup("features", 2),)
    assert other.pretrained is None
    with pytest.raises(BagtagError, match="feature groups"):
        BagSet.concatenate([bags, bags.replace(X=X)])
    with pytest.raises(BagtagError, match="add up to the 3 columns"):
        BagSet(X, [0, 2, 3], bags.tags, bags.classes, groups=groups[:1])
    with pytest.raises(BagtagError, match=r"\(4, 2\), not \(3, 2\)"):
        BagSet(X, [0, 2, 3], bags.tags, bags.classes, pretrained=pretrained[:3])
