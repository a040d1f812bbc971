"""The background keeps no more than its share, and what people labelled moves the share."""

import numpy as np

from miml_core import BACKGROUND, BagSet
from miml_core.models.background import background_shift, lower_background
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


def test_bags_without_tags_stay_background():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(4, 1, (60, 2)), rng.normal(-4, 1, (60, 2))])
    tags = np.repeat([[1], [-1]], 20, axis=0)
    bags = BagSet(X, np.arange(41) * 3, tags, ["wren"])
    annotated = ORedLR(background=True, leak=0.01, alpha=1.0, most_background=0.0).fit(bags).annotate(bags)
    assert (annotated[60:, -1] == 1).all()
    assert (annotated[:60, 0] > 0.9).mean() > 0.9
