"""The background is limited to its share, which follows from the tags and from labels that people gave."""

import numpy as np
import pytest

from miml_core import BACKGROUND, UNKNOWN, BagSet
from miml_core.evaluation.data_sets import find_sets
from miml_core.models.background import (
    background_evidence,
    background_share,
    background_shift,
    claimed_share,
    explained_tags,
    lower_background,
    new_bags_shift,
    unclaimed_share,
)
from miml_core.models.ored_lr import ORedLR
from miml_core.posterior import bag_posterior


def doubtful(n_bags: int = 40) -> tuple[BagSet, np.ndarray]:
    """A model in doubt: the background is likelier than the bag's tag in nearly every segment."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((5 * n_bags, 4)) + np.array([0, 0, 0, 3])
    log_prior = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    tags = np.full((n_bags, 3), -1)
    tags[np.arange(n_bags), rng.integers(0, 3, n_bags)] = 1
    return BagSet(rng.standard_normal((5 * n_bags, 2)), np.arange(n_bags + 1) * 5, tags, list("abc")), log_prior


def share(bags, log_prior, shift):
    lowered = lower_background(log_prior, shift)
    return bag_posterior(lowered, bags.offsets, bags.tags, leak=0.01).probabilities[:, -1].mean()


def test_a_model_in_doubt_is_held_to_the_share():
    bags, log_prior = doubtful()
    assert share(bags, log_prior, 0.0) > 0.6
    shift = background_shift(log_prior, bags, leak=0.01, most=0.3)
    assert abs(share(bags, log_prior, shift) - 0.3) < 0.01


def test_a_model_below_the_share_is_left_alone():
    bags, log_prior = doubtful()
    assert background_shift(log_prior, bags, leak=0.01, most=0.99) == 0.0


def test_labels_move_the_share():
    bags, log_prior = doubtful()
    tagged = bags.tags.argmax(axis=1)[bags.bag_of]
    none = bags.replace(labels=tagged)
    shift = background_shift(log_prior, none, leak=0.01, most=0.5)
    assert share(bags, log_prior, shift) < 0.2  # (0 + 100 * 0.5) / (200 + 100)
    many = bags.replace(labels=np.full(bags.n_segments, BACKGROUND))
    assert background_shift(log_prior, many, leak=0.01, most=0.5) < shift


def flocks(noise: float, n_bags: int = 150, spread: float = 0.7, seed: int = 0) -> tuple[BagSet, np.ndarray]:
    """Bags of ten segments, in flocks: all of one of three species, but for a share of noise; and the truth."""
    rng = np.random.default_rng(seed)
    species = rng.integers(0, 3, n_bags)
    truth = np.where(rng.random((n_bags, 10)) < noise, 3, species[:, None]).ravel()
    X = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])[truth] + spread * rng.standard_normal((10 * n_bags, 2))
    tags = np.where(species[:, None] == np.arange(3), 1, -1)
    return BagSet(X, np.arange(n_bags + 1) * 10, tags, list("abc")), truth


def log_odds(bags: BagSet, truth: np.ndarray, doubt: float) -> np.ndarray:
    """Probabilities of segments by a model with that much uncertainty."""
    scores = np.eye(4)[truth] + doubt * np.random.default_rng(1).standard_normal((len(truth), 4))
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


@pytest.mark.parametrize("noise", [0.0, 0.2, 0.5])
def test_the_share_of_segments_with_a_class_is_estimated_from_tags(noise):
    bags, truth = flocks(noise)
    claimed = claimed_share(log_odds(bags, truth, 0.2), bags)
    assert abs(claimed - (truth < 3).mean()) < 0.03
    assert 0.4 * (truth < 3).mean() < claimed_share(log_odds(bags, truth, 0.6), bags) < claimed + 0.05


def test_an_uninformative_model_gets_no_background():
    bags, truth = flocks(0.3)
    assert explained_tags(log_odds(bags, truth, 100.0), bags, leak=0.01) == 0.0
    assert background_share(log_odds(bags, truth, 100.0), bags, leak=0.01) == 0.0
    sure = 20 * np.eye(4)[truth]
    assert explained_tags(sure - np.logaddexp.reduce(sure, axis=1, keepdims=True), bags, leak=0.0) > 0.95


def test_a_class_that_every_bag_has_claims_everything():
    bags, truth = flocks(0.3)
    everywhere = BagSet(bags.X, bags.offsets, np.ones((bags.n_bags, 1)), ["a"])
    assert claimed_share(log_odds(bags, truth, 0.2)[:, 2:], everywhere) == 1.0


def test_flocks_are_not_left_to_the_background():
    """One segment explains a tag, the others must not be called background for that."""
    bags, truth = flocks(0.0, spread=1.5)
    annotated = ORedLR(background=True, leak=0.01).fit(bags).annotate(bags)
    assert (annotated.argmax(axis=1) == truth).mean() > 0.9
    noisy, truth = flocks(0.4)
    annotated = ORedLR(background=True, leak=0.01).fit(noisy).annotate(noisy)
    assert (annotated.argmax(axis=1) == truth).mean() > 0.9


@pytest.mark.slow
def test_on_real_calls_the_background_costs_nothing_and_is_taught_by_ten_corrections(data_dir):
    """HJA with four species that nobody tagged: 7 % of the segments of tagged bags, which tags alone do not show."""
    (data,) = find_sets(data_dir / "miml", ["hja_birdsong union"])
    hidden = np.random.default_rng(205).permutation(data.bags.n_classes)[:4]
    kept = np.setdiff1d(np.arange(data.bags.n_classes), hidden)
    number = np.full(data.bags.n_classes, len(kept))
    number[kept] = np.arange(len(kept))
    truth = number[data.truth]
    bags = BagSet(data.bags.X, data.bags.offsets, data.bags.tags[:, kept], [data.bags.classes[c] for c in kept])
    tagged = np.flatnonzero((bags.tags > 0).any(axis=1))
    with_one, without = ORedLR(background=True, leak=0.01).fit(bags), ORedLR(leak=0.01).fit(bags[tagged])
    predicted, rows = with_one.annotate(bags).argmax(axis=1), bags.rows_of(tagged)
    right_without = without.annotate(bags[tagged]).argmax(axis=1) == truth[rows]
    assert (predicted == truth)[rows].mean() > right_without.mean() - 0.005
    noise = truth == len(kept)
    labels = np.full(bags.n_segments, UNKNOWN)
    labels[np.random.default_rng(0).permutation(np.flatnonzero(noise & (predicted != truth)))[:10]] = BACKGROUND
    corrected = bags.replace(labels=labels)
    later = ORedLR(background=True, leak=0.01).fit(corrected, warm_start=with_one).annotate(corrected).argmax(axis=1)
    others = labels == UNKNOWN
    assert (later == truth)[others & noise].mean() > (predicted == truth)[others & noise].mean() + 0.3
    assert (later == truth)[others].mean() > (predicted == truth)[others].mean()


def test_bags_without_tags_stay_background():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(4, 1, (60, 2)), rng.normal(-4, 1, (60, 2))])
    tags = np.repeat([[1], [-1]], 20, axis=0)
    bags = BagSet(X, np.arange(41) * 3, tags, ["wren"])
    annotated = ORedLR(background=True, leak=0.01, alpha=1.0, most_background=0.0).fit(bags).annotate(bags)
    assert (annotated[60:, -1] == 1).all()
    assert (annotated[:60, 0] > 0.9).mean() > 0.9


def test_what_the_background_gives_up_is_learnt_from():
    """If the background took most segments, segments of new bags are distinguished better once it is lowered."""
    bags, _ = flocks(0.3, spread=2.0)
    new, truth = flocks(0.3, spread=2.0, seed=1)
    model = ORedLR(alpha=1.0, background=True, leak=0.01).fit(bags)
    assert model.background_shift_ > 0
    named = truth < 3
    by_tags, by_segments = (
        (model._log_prior(weights, new.X)[named].argmax(axis=1) == truth[named]).mean()
        for weights in (model.weights_, model.segment_weights_)
    )
    assert by_segments > by_tags + 0.05


# what the tags say about the background


def test_unclaimed_segments_are_counted_by_foreign_tags():
    bags, truth = flocks(0.4)
    sure = log_odds(bags, truth, 0.2)
    assert abs(unclaimed_share(sure, bags) - (truth == 3).mean()) < 0.05
    assert unclaimed_share(log_odds(bags, truth, 100.0), bags) > 0.9
    everywhere = BagSet(bags.X, bags.offsets, np.ones((bags.n_bags, 3)), list("abc"))
    assert unclaimed_share(sure, everywhere) == 0.0


@pytest.mark.parametrize("noise", [0.0, 0.2, 0.5])
def test_evidence_of_a_background_that_is_easily_distinguished(noise):
    bags, truth = flocks(noise)
    sure = 20 * np.eye(4)[truth]
    evidence = background_evidence(sure - np.logaddexp.reduce(sure, axis=1, keepdims=True), bags, leak=0.01)
    assert evidence.found == (noise > 0)
    assert abs(evidence.share - noise) < 0.06
    assert evidence.share <= evidence.limit + 1e-9


def test_tags_that_are_hardly_predicted_are_no_evidence():
    bags, truth = flocks(0.5)
    evidence = background_evidence(log_odds(bags, truth, 100.0), bags, leak=0.01)
    assert (evidence.found, evidence.share) == (False, 0.0)


def overlapping(noise: float, seed: int) -> tuple[BagSet, np.ndarray]:
    """Flocks of three species that overlap so much that each tag is best explained by one segment only."""
    return flocks(noise, spread=2.5, seed=seed)


def test_without_a_background_the_default_is_as_good_as_a_model_without():
    (bags, truth), (new, new_truth) = overlapping(0.0, seed=0), overlapping(0.0, seed=1)
    with_one, without = (ORedLR(background=background, leak=0.01).fit(bags) for background in (True, False))

    def right(model: ORedLR) -> np.ndarray:
        given, alone = model.annotate(bags), model.predict_proba(new.X)
        return np.array([(given.argmax(axis=1) == truth).mean(), (alone.argmax(axis=1) == new_truth).mean()])

    assert (right(with_one) >= right(without) - 0.01).all()


@pytest.mark.parametrize("noise", [0.2, 0.4])
def test_new_bags_have_as_much_background_as_tagged_ones(noise):
    (bags, _), (new, truth) = flocks(noise, spread=1.2), flocks(noise, spread=1.2, seed=1)
    predicted = ORedLR(background=True, leak=0.01).fit(bags).predict_proba(new.X).argmax(axis=1)
    assert abs((predicted == 3).mean() - noise) < 0.1
    assert (predicted == truth)[truth < 3].mean() > 0.8


def test_new_bags_may_be_bags_without_any_tag():
    """A third of the bags has none of the classes: so has a third of the new segments."""
    bags, truth = flocks(0.0, spread=1.2)
    tags = np.where((truth.reshape(-1, 10)[:, :1] == 2), -1, bags.tags)[:, :2]
    some = BagSet(bags.X, bags.offsets, tags, list("ab"))
    predicted = ORedLR(background=True, leak=0.01).fit(some).predict_proba(bags.X).argmax(axis=1)
    assert (predicted == truth).mean() > 0.9


def hidden_class(seed: int) -> tuple[BagSet, np.ndarray]:
    """Bags of two of four species that are hard to distinguish; the fourth is never tagged, and rare."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 3, (2, 150))
    each = np.where(rng.random((150, 10)) < 0.5, first[:, None], second[:, None])
    truth = np.where(rng.random((150, 10)) < 0.08, 3, each).ravel()
    X = 2.0 * np.eye(8)[truth] + rng.standard_normal((1500, 8))
    tags = np.full((150, 3), -1)
    tags[np.arange(150), first] = tags[np.arange(150), second] = 1
    return BagSet(X, np.arange(151) * 10, tags, list("abc")), truth


def test_ten_corrections_teach_the_background():
    (bags, truth), (new, new_truth) = hidden_class(0), hidden_class(1)
    before = ORedLR(background=True, leak=0.01).fit(bags)
    labels = np.full(bags.n_segments, UNKNOWN)
    labels[np.flatnonzero((truth == 3) & (before.annotate(bags).argmax(axis=1) != 3))[:10]] = BACKGROUND
    corrected = bags.replace(labels=labels)
    after = ORedLR(background=True, leak=0.01).fit(corrected, warm_start=before)
    others = labels == UNKNOWN

    def found(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the recall and precision of the background, and the share of segments that are right."""
        predicted = probabilities.argmax(axis=1)
        called, real = predicted == 3, truth == 3
        precision = real[called].mean() if called.any() else 0.0
        return np.array([called[real].mean(), precision, (predicted == truth).mean()])

    for earlier, later in (
        (found(before.annotate(bags)[others], truth[others]), found(after.annotate(corrected)[others], truth[others])),
        (found(before.predict_proba(new.X), new_truth), found(after.predict_proba(new.X), new_truth)),
    ):
        assert later[0] > earlier[0] + 0.25
        assert later[1] > 0.4
        assert later[2] > earlier[2]


def test_labels_raise_the_share_up_to_the_limit_only():
    bags, log_prior = doubtful()
    many = bags.replace(labels=np.full(bags.n_segments, BACKGROUND))
    shift = background_shift(log_prior, many, leak=0.01, most=0.1, limit=0.3)
    assert abs(share(bags, log_prior, shift) - 0.3) < 0.01
    assert new_bags_shift(log_prior, many, most=0.1, limit=0.3) < new_bags_shift(log_prior, bags, most=0.1, limit=0.3)
