"""Figures from the papers, to compare with ours, with their source."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A published accuracy or loss (per cent for accuracies, a share for losses) and its source."""

    value: float
    source: str


PHAM_TRANSDUCTIVE = "Pham et al. 2015, Table 5"
PHAM_INDUCTIVE = "Pham et al. 2015, Table 3"
PHAM_KERNEL = "Pham et al. 2015, Table 8"
PHAM_BAGS = "Pham et al. 2015, Table 7"
BRIGGS = "Briggs et al. 2013, Table III, best lambda by accuracy"
HUANG = "Huang et al. 2014, Table 2 (2/3 of the bags for training; Bird Song with all its segments)"
FOULDS = "Foulds and Smyth 2011, Table 1, Musk1 (PCA)"
WANG = "Wang and Pinar 2019, Table 4, mean of hja_0 to hja_12"

PUBLISHED: dict[tuple[str, str, str], Figure] = {
    ("hja_birdsong union", "ored-lr", "transductive"): Figure(88.0, PHAM_TRANSDUCTIVE),
    ("hja_birdsong union", "ored-lr", "inductive"): Figure(72.3, PHAM_INDUCTIVE),
    ("hja_birdsong union", "ored-lr-rff", "inductive"): Figure(72.8, PHAM_KERNEL),
    ("hja_birdsong union", "ored-lr-rbf", "inductive"): Figure(72.8, PHAM_KERNEL),
    ("hja_birdsong union", "sim", "transductive"): Figure(83.5, PHAM_TRANSDUCTIVE),
    ("hja_birdsong union", "sim", "inductive"): Figure(62.7, PHAM_INDUCTIVE),
    ("hja_birdsong union", "mimlfast", "transductive"): Figure(81.8, PHAM_TRANSDUCTIVE),
    ("hja_birdsong union", "mimlfast", "inductive"): Figure(61.3, PHAM_INDUCTIVE),
    ("hja_birdsong union", "supervised-lr", "inductive"): Figure(74.6, PHAM_INDUCTIVE),
    ("hja_birdsong union", "majority", "transductive"): Figure(56.3, PHAM_TRANSDUCTIVE),
    ("hja_birdsong filtered", "ored-lr", "transductive"): Figure(80.8, PHAM_TRANSDUCTIVE),
    ("hja_birdsong filtered", "ored-lr", "inductive"): Figure(69.1, PHAM_INDUCTIVE),
    ("hja_birdsong filtered", "ored-lr-rff", "inductive"): Figure(70.2, PHAM_KERNEL),
    ("hja_birdsong filtered", "ored-lr-rbf", "inductive"): Figure(70.2, PHAM_KERNEL),
    ("hja_birdsong filtered", "sim", "transductive"): Figure(81.5, BRIGGS),
    ("hja_birdsong filtered", "sim", "inductive"): Figure(61.8, BRIGGS),
    ("hja_birdsong filtered", "sim-max-cccp", "transductive"): Figure(81.6, BRIGGS),
    ("hja_birdsong filtered", "sim-max-cccp", "inductive"): Figure(60.7, BRIGGS),
    ("hja_birdsong filtered", "sim-rff", "transductive"): Figure(83.3, BRIGGS),
    ("hja_birdsong filtered", "sim-rff", "inductive"): Figure(64.2, BRIGGS),
    ("hja_birdsong filtered", "mimlfast", "transductive"): Figure(78.3, PHAM_TRANSDUCTIVE),
    ("hja_birdsong filtered", "mimlfast", "inductive"): Figure(60.5, PHAM_INDUCTIVE),
    ("hja_birdsong filtered", "mimlfast", "ranking_loss"): Figure(0.036, HUANG),
    ("hja_birdsong filtered", "mimlfast", "average_precision"): Figure(0.921, HUANG),
    ("hja_birdsong filtered", "majority", "transductive"): Figure(51.6, PHAM_TRANSDUCTIVE),
    ("hja_birdsong unfiltered", "sim", "transductive"): Figure(81.0, BRIGGS),
    ("hja_birdsong unfiltered", "sim", "inductive"): Figure(55.6, BRIGGS),
    ("hja_birdsong unfiltered", "sim", "ranking_loss"): Figure(0.027, HUANG),
    ("hja_birdsong unfiltered", "sim", "average_precision"): Figure(0.930, HUANG),
    ("hja_birdsong unfiltered", "sim-max-cccp", "transductive"): Figure(80.3, BRIGGS),
    ("hja_birdsong unfiltered", "sim-max-cccp", "inductive"): Figure(53.0, BRIGGS),
    ("hja_birdsong unfiltered", "mimlfast", "ranking_loss"): Figure(0.036, HUANG),
    ("hja_birdsong unfiltered", "mimlfast", "average_precision"): Figure(0.921, HUANG),
    ("letter_frost", "ored-lr", "transductive"): Figure(91.5, PHAM_TRANSDUCTIVE),
    ("letter_frost", "ored-lr", "inductive"): Figure(71.3, PHAM_INDUCTIVE),
    ("letter_frost", "ored-lr-rff", "inductive"): Figure(74.0, PHAM_KERNEL),
    ("letter_frost", "ored-lr-rbf", "inductive"): Figure(74.0, PHAM_KERNEL),
    ("letter_frost", "sim", "transductive"): Figure(77.3, PHAM_TRANSDUCTIVE),
    ("letter_frost", "sim", "inductive"): Figure(58.1, PHAM_INDUCTIVE),
    ("letter_frost", "sim", "ranking_loss"): Figure(0.138, HUANG),
    ("letter_frost", "sim", "average_precision"): Figure(0.686, HUANG),
    ("letter_frost", "mimlfast", "ranking_loss"): Figure(0.134, HUANG),
    ("letter_frost", "mimlfast", "average_precision"): Figure(0.704, HUANG),
    ("letter_frost", "mimlfast", "transductive"): Figure(75.8, PHAM_TRANSDUCTIVE),
    ("letter_frost", "mimlfast", "inductive"): Figure(58.9, PHAM_INDUCTIVE),
    ("letter_frost", "supervised-lr", "inductive"): Figure(72.7, PHAM_INDUCTIVE),
    ("musk1", "mimm-pca", "bag_accuracy"): Figure(89.1, FOULDS),
    ("hja_birdsong filtered", "gp-probit", "each_auc"): Figure(0.778, WANG),
    ("hja_birdsong filtered", "gp-probit", "each_log_likelihood"): Figure(-0.069, WANG),
}


_BAG_MEASURES = ("hamming_loss", "ranking_loss", "average_precision", "one_error", "coverage")
_BAG_FIGURES = {
    ("hja_birdsong union", "ored-lr"): (0.111, 0.027, 0.937, 0.057, 0.127),
    ("hja_birdsong union", "sim"): (0.161, 0.024, 0.936, 0.060, 0.115),
    ("hja_birdsong union", "mimlfast"): (0.055, 0.026, 0.939, 0.042, 0.124),
    ("hja_birdsong union", "supervised-lr"): (0.112, 0.028, 0.933, 0.060, 0.125),
    ("hja_birdsong filtered", "ored-lr"): (0.096, 0.027, 0.942, 0.038, 0.139),
    ("hja_birdsong filtered", "sim"): (0.159, 0.022, 0.941, 0.051, 0.124),
    ("hja_birdsong filtered", "supervised-lr"): (0.112, 0.035, 0.925, 0.057, 0.152),
    ("letter_frost", "ored-lr"): (0.075, 0.061, 0.839, 0.111, 0.248),
    ("letter_frost", "sim"): (0.107, 0.120, 0.733, 0.146, 0.346),
    ("letter_frost", "mimlfast"): (0.112, 0.127, 0.736, 0.096, 0.372),
    ("letter_frost", "supervised-lr"): (0.067, 0.057, 0.856, 0.096, 0.240),
}
for _row, _values in _BAG_FIGURES.items():
    for _measure, _value in zip(_BAG_MEASURES, _values):
        PUBLISHED.setdefault((*_row, _measure), Figure(_value, PHAM_BAGS))


def published(data_set: str, configuration: str, measure: str) -> Figure | None:
    """Return the published figure for a set, a model and a measure, or None."""
    return PUBLISHED.get((data_set, configuration, measure))
