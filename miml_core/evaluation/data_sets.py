"""Data sets of the benchmark: every `.npz` and `.arff` file of a folder, in the variants that its truth allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import UNKNOWN, BagSet
from miml_core.errors import BagtagError

Variant = Literal["whole", "union", "filtered", "unfiltered", "tags only"]


@dataclass(frozen=True)
class DataSet:
    """Bags, and the true class of their segments, which is used for evaluation only."""

    file: str
    variant: Variant
    bags: BagSet
    truth: NDArray[np.int64] | None
    """(N,) int: class index, or `UNKNOWN`; None if only tags are known."""

    @property
    def name(self) -> str:
        return self.file if self.variant in ("whole", "tags only") else f"{self.file} {self.variant}"

    @property
    def may_have_background(self) -> bool:
        """Whether segments may be none of the classes."""
        return self.variant in ("unfiltered", "tags only")

    @property
    def may_lack_segments(self) -> bool:
        """Whether a tag may be true without a segment of it."""
        return self.variant in ("filtered", "unfiltered", "tags only")


def find_sets(
    folder: Path, wanted: list[str] | None = None, complain: Callable[[str], None] | None = None
) -> list[DataSet]:
    """Return every data set below `folder` whose name contains one of `wanted` (all of them if it is empty).

    A file that cannot be read is an error; if `complain` is given, it is called with the message instead, and the other
    files are read.
    """
    if not folder.is_dir():
        raise BagtagError(f"There is no folder {str(folder)!r}; give a folder with .npz or .arff files.")
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".npz", ".arff"))
    if not files:
        raise BagtagError(f"There are no .npz or .arff files in {str(folder)!r}; give another folder.")
    sets: list[DataSet] = []
    for path in files:
        try:
            sets += list(_read(path))
        except BagtagError as error:
            sentence = str(error) if str(path) in str(error) else f"{path}: {error}"
            if complain is None:
                raise BagtagError(sentence) from error
            complain(sentence)
    chosen = [one for one in sets if not wanted or any(word.lower() in one.name.lower() for word in wanted)]
    if not chosen:
        names = ", ".join(one.name for one in sets)
        known = f"there are {names}" if sets else "no file here can be read"
        raise BagtagError(f"No set is called {' or '.join(wanted or ['anything'])}; {known}.")
    return chosen


def _read(path: Path) -> Iterator[DataSet]:
    if path.suffix == ".arff":
        yield DataSet(path.stem, "tags only", BagSet.from_arff(path), None)
        return
    bags = BagSet.from_npz(path)
    with np.load(path, allow_pickle=False) as file:
        truth = file["instance_label"].astype(np.int64) if "instance_label" in file.files else None
    if truth is None or (truth < 0).all():
        yield DataSet(path.stem, "tags only", bags, None)
        return
    if len(truth) != bags.n_segments or truth.max() >= bags.n_classes:
        raise BagtagError(f"{path}: instance_label must have one class index, or -1, per segment.")
    truth = np.where(truth < 0, UNKNOWN, truth)
    known, known_truth = _labelled_only(bags, truth)
    union = _union(known, known_truth)
    if (truth >= 0).all() and (union.tags == bags.tags).all():
        yield DataSet(path.stem, "whole", bags, truth)
        return
    yield DataSet(path.stem, "union", union, known_truth)
    yield DataSet(path.stem, "filtered", known, known_truth)
    if (truth < 0).any():
        yield DataSet(path.stem, "unfiltered", bags, truth)


def _labelled_only(bags: BagSet, truth: NDArray[np.int64]) -> tuple[BagSet, NDArray[np.int64]]:
    """Return the segments of known class; bags without any are left out."""
    kept = truth >= 0
    sizes = np.bincount(bags.bag_of[kept], minlength=bags.n_bags)
    some = sizes > 0
    offsets = np.concatenate([[0], np.cumsum(sizes[some])])
    return BagSet(bags.X[kept], offsets, bags.tags[some], bags.classes), truth[kept]


def _union(bags: BagSet, truth: NDArray[np.int64]) -> BagSet:
    """Return the same bags, tagged with exactly the classes of their segments."""
    tags = np.full_like(bags.tags, -1)
    tags[bags.bag_of, truth] = 1
    return bags.replace(tags=tags)
