"""Measures of the predictions of segments and bags, and of predicted probabilities.

Segment measures use only segments whose true class is known (a class index, not negative). Bag measures follow Zhou et
al. (2012), as in the papers: ranking measures leave out bags with no tags or all tags, for which no order is wrong, and
coverage is divided by the number of classes. Losses and accuracies are shares, 0 to 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.evaluation.reliability import expected_calibration_error

Array = NDArray[np.float64]
Truth = NDArray[np.int64]


def predicted_classes(probabilities: ArrayLike, n_classes: int) -> Truth:
    """Return (N,) the most likely class; a background column is not used.

    Examples
    --------
    >>> predicted_classes([[0.2, 0.3, 0.5]], n_classes=2)
    array([1])
    """
    return np.argmax(np.asarray(probabilities)[:, :n_classes], axis=1)


# segments


def instance_accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of the segments of known class that are predicted correctly.

    Examples
    --------
    >>> instance_accuracy([0, 1, -1, 1], [0, 1, 1, 0])  # the class of the third segment is not known
    0.6666666666666666
    """
    truth, predicted = _known(truth, predicted)
    return float((truth == predicted).mean())


def macro_f1(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean F1 of the classes that occur in the truth: rare classes count as much as common ones.

    Examples
    --------
    >>> macro_f1([0, 0, 0, 1], [0, 0, 0, 0])  # F1 is 6 / 7 for class 0 and 0 for class 1
    0.42857142857142855
    """
    from sklearn.metrics import f1_score

    truth, predicted = _known(truth, predicted)
    return float(f1_score(truth, predicted, labels=np.unique(truth), average="macro", zero_division=0))


def key_instance_accuracy(truth: ArrayLike, scores: ArrayLike, offsets: ArrayLike, tags: ArrayLike) -> float:
    """Return the share of tags whose highest-scored segment has that class (key instances, Huang et al. 2014).

    Tags without a segment of that class in the bag are not counted, and segments of unknown class are not considered.

    Examples
    --------
    >>> key_instance_accuracy([0, 1], [[0.9, 0.2], [0.3, 0.8]], offsets=[0, 2], tags=[[1, 1]])
    1.0
    """
    truth, scores, offsets = np.asarray(truth), np.asarray(scores), np.asarray(offsets)
    right = total = 0
    for bag, tag in np.argwhere(np.asarray(tags) > 0):
        rows = np.arange(offsets[bag], offsets[bag + 1])
        rows = rows[truth[rows] >= 0]
        if (truth[rows] == tag).any():
            right += int(truth[rows[np.argmax(scores[rows, tag])]] == tag)
            total += 1
    return right / total if total else float("nan")


def one_against_rest(truth: ArrayLike, each: ArrayLike) -> dict[str, float]:
    """Return AUC and log-likelihood of each class against the rest, averaged (Wang and Pinar 2019, section 4).

    Examples
    --------
    >>> one_against_rest([0, 1], [[0.9, 0.2], [0.3, 0.8]])["each_auc"]
    1.0
    """
    from sklearn.metrics import roc_auc_score

    known, p = _known(truth, each)
    p = np.clip(p, 1e-12, 1 - 1e-12)
    is_class = known[:, None] == np.arange(p.shape[1])
    mixed = np.flatnonzero(is_class.any(axis=0) & ~is_class.all(axis=0))
    areas = [roc_auc_score(is_class[:, c], p[:, c]) for c in mixed]
    log_likelihoods = np.where(is_class, np.log(p), np.log1p(-p))
    return {
        "each_auc": float(np.mean(areas)) if areas else float("nan"),
        "each_log_likelihood": float(log_likelihoods.mean()),
    }


# probabilities of segments


def log_likelihood(truth: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean log probability of the true class.

    Examples
    --------
    >>> log_likelihood([0], [[0.5, 0.5]])
    -0.6931471805599453
    """
    truth, p = _known(truth, probabilities)
    return float(np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-300)).mean())


def brier_score(truth: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean squared distance between probabilities and truth, summed over classes (0 to 2).

    Examples
    --------
    >>> brier_score([0], [[0.5, 0.5]])
    0.5
    """
    truth, p = _known(truth, probabilities)
    return float(((p - np.eye(p.shape[1])[truth]) ** 2).sum(axis=1).mean())


def calibration_error(truth: ArrayLike, probabilities: ArrayLike, n_bins: int = 10) -> float:
    """Return the expected calibration error of the top probability, with bins of equal width (Guo et al. 2017).

    That is the mean of |accuracy - confidence| over the bins, weighted by the number of segments in them. To count the
    background as a class, give it the index of its column in the truth.

    Examples
    --------
    >>> calibration_error([0, 1], [[0.75, 0.25], [0.75, 0.25]])  # half of the predictions are right
    0.25
    """
    truth, p = _known(truth, probabilities)
    return expected_calibration_error(p.max(axis=1), p.argmax(axis=1) == truth, n_bins)


# bags


def union_tags(predicted: ArrayLike, offsets: ArrayLike, n_classes: int) -> NDArray[np.bool_]:
    """Return (B, C) the union of each bag's predicted classes (Pham et al. 2015, eq. 28); negative is background.

    Examples
    --------
    >>> union_tags([0, 2, -2], offsets=[0, 2, 3], n_classes=3)
    array([[ True, False,  True],
           [False, False, False]])
    """
    predicted, offsets = np.asarray(predicted), np.asarray(offsets)
    tags = np.zeros((len(offsets) - 1, n_classes), bool)
    bag_of = np.repeat(np.arange(len(tags)), np.diff(offsets))
    named = (predicted >= 0) & (predicted < n_classes)
    tags[bag_of[named], predicted[named]] = True
    return tags


def hamming_loss(tags: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of (bag, class) pairs that are wrong; tags that are not known are left out.

    Examples
    --------
    >>> hamming_loss([[1, -1, 0]], [[True, True, True]])
    0.5
    """
    tags, predicted = np.asarray(tags), np.asarray(predicted, dtype=bool)
    return float(((tags > 0) != predicted)[tags != 0].mean())


def ranking_loss(tags: ArrayLike, scores: ArrayLike) -> float:
    """Return the share of (present, absent) pairs in the wrong order or tied, averaged over bags.

    Examples
    --------
    >>> ranking_loss([[1, -1, -1]], [[0.5, 0.7, 0.1]])  # one of two pairs is in the wrong order
    0.5
    """
    from sklearn.metrics import label_ranking_loss

    present, scores = _ordered_bags(tags, scores)
    return float(label_ranking_loss(present, scores)) if len(present) else float("nan")


def average_precision(tags: ArrayLike, scores: ArrayLike) -> float:
    """Return the share of present tags among those scored at least as high, averaged over present tags and bags.

    Examples
    --------
    >>> average_precision([[1, -1, -1]], [[0.5, 0.7, 0.1]])
    0.5
    """
    from sklearn.metrics import label_ranking_average_precision_score

    present, scores = _ordered_bags(tags, scores)
    return float(label_ranking_average_precision_score(present, scores)) if len(present) else float("nan")


def class_average_precision(tags: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean over classes of the average precision with which bags are ranked by the class's score.

    Only known tags count; classes without a present tag are left out.

    Examples
    --------
    >>> class_average_precision([[1, -1], [-1, -1], [1, -1]], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]).__round__(3)
    0.833
    """
    from sklearn.metrics import average_precision_score

    tags, scores = np.asarray(tags), np.asarray(scores, dtype=np.float64)
    found = [
        average_precision_score(column[column != 0] > 0, score[column != 0])
        for column, score in zip(tags.T, scores.T)
        if (column > 0).any()
    ]
    return float(np.mean(found)) if found else float("nan")


def one_error(tags: ArrayLike, scores: ArrayLike) -> float:
    """Return the share of bags whose highest-scored tag is absent.

    Examples
    --------
    >>> one_error([[1, -1], [-1, 1]], [[0.9, 0.1], [0.8, 0.3]])
    0.5
    """
    present, scores = _ordered_bags(tags, scores)
    return float((~present[np.arange(len(present)), scores.argmax(axis=1)]).mean()) if len(present) else float("nan")


def coverage(tags: ArrayLike, scores: ArrayLike) -> float:
    """Return how many tags are ranked above the last present one, divided by the number of classes.

    Examples
    --------
    >>> coverage([[1, -1, -1, -1]], [[0.5, 0.7, 0.1, 0.2]])
    0.25
    """
    from sklearn.metrics import coverage_error

    present, scores = _ordered_bags(tags, scores)
    if not len(present):
        return float("nan")
    return (float(coverage_error(present, scores)) - 1.0) / present.shape[1]


def bag_measures(tags: ArrayLike, scores: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    """Return the five measures of Pham et al. (2015), Table 7, by name.

    Examples
    --------
    >>> bag_measures([[1, -1]], [[0.9, 0.1]], [[True, False]])["hamming_loss"]
    0.0
    """
    return {
        "hamming_loss": hamming_loss(tags, predicted),
        "ranking_loss": ranking_loss(tags, scores),
        "average_precision": average_precision(tags, scores),
        "one_error": one_error(tags, scores),
        "coverage": coverage(tags, scores),
    }


def _known(truth: ArrayLike, *others: ArrayLike) -> tuple[NDArray, ...]:
    truth = np.asarray(truth)
    known = truth >= 0
    return truth[known], *(np.asarray(other)[known] for other in others)


def _ordered_bags(tags: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Array]:
    """Return the bags whose tags are all known, some present and some absent."""
    tags, scores = np.asarray(tags), np.asarray(scores, dtype=np.float64)
    use = (tags != 0).all(axis=1) & (tags > 0).any(axis=1) & (tags < 0).any(axis=1)
    return (tags > 0)[use], scores[use]
