"""The background is limited to its share, which follows from the tags and from labels that people gave."""

import numpy as np
import pytest

from miml_core import BACKGROUND, BagSet
from miml_core.evaluation.data_sets import find_sets
from miml_core.models.background import (
    background_share,
    background_shift,
    claimed_share,
    explained_tags,
    lower_background,
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
    assert share(bags, log_prior, shift) < 0.15
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
def test_on_real_calls_the_background_beats_the_commonest_tag(data_dir):
    """HJA with four species that nobody tagged: their segments are the background."""
    (data,) = find_sets(data_dir / "miml", ["hja_birdsong union"])
    hidden = np.random.default_rng(205).permutation(data.bags.n_classes)[:4]
    kept = np.setdiff1d(np.arange(data.bags.n_classes), hidden)
    number = np.full(data.bags.n_classes, len(kept))
    number[kept] = np.arange(len(kept))
    truth, tags = number[data.truth], data.bags.tags[:, kept]
    bags = BagSet(data.bags.X, data.bags.offsets, tags, [data.bags.classes[c] for c in kept])
    predicted = ORedLR(background=True, leak=0.01).fit(bags).annotate(bags).argmax(axis=1)
    commonest = np.where(tags > 0, (tags > 0).sum(axis=0), 0).argmax(axis=1)[bags.bag_of]
    named = truth < len(kept)
    assert (predicted == truth)[~named].mean() > 0.5
    assert (predicted == truth)[named].mean() > 0.6
    assert (predicted == truth).mean() > (commonest == truth).mean() + 0.05


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
