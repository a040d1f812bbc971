"""Read the two file layouts of public multi-instance multi-label data sets."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bag_arrays import number_array, whole_number_array
from miml_core.errors import BagtagError

Arrays = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int8], list[str]]


def read_npz(path: Path) -> Arrays:
    """Return `X`, `offsets`, `tags` and `classes` of the benchmark `.npz` layout; a tag that is not set is absent."""
    try:
        with np.load(path, allow_pickle=False) as file:
            X = number_array(file["X"], "X")
            bag_id = whole_number_array(file["bag_id"], np.int64, "bag_id")
            matrix = number_array(file["bag_label_matrix"], "bag_label_matrix")
            names = file["class_names"]
    except FileNotFoundError:
        raise BagtagError(f"There is no file {path}.") from None
    except BagtagError as error:
        raise BagtagError(f"{path}: {error}") from None
    except (OSError, TypeError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise BagtagError(f"{path} is not a bag file: it needs X, bag_id, bag_label_matrix and class_names.") from error
    _check_layout(path, X, bag_id, matrix, names)
    offsets = np.searchsorted(bag_id, np.arange(len(matrix) + 1))
    return X, offsets, np.where(matrix > 0, 1, -1).astype(np.int8), [str(name) for name in names]


def _check_layout(
    path: Path, X: NDArray[np.float64], bag_id: NDArray[np.int64], matrix: NDArray[np.float64], names: NDArray[Any]
) -> None:
    arrays = {"X": (X, 2), "bag_id": (bag_id, 1), "bag_label_matrix": (matrix, 2), "class_names": (names, 1)}
    for name, (array, n_dimensions) in arrays.items():
        if array.ndim != n_dimensions:
            raise BagtagError(f"{path}: {name} must have {n_dimensions} dimensions, not the shape {array.shape}.")
    n_bags = len(matrix)
    if len(bag_id) != len(X):
        raise BagtagError(f"{path}: there are {len(X)} segments but {len(bag_id)} bag ids.")
    if len(names) != matrix.shape[1]:
        raise BagtagError(f"{path}: there are {len(names)} class names but tags of {matrix.shape[1]} classes.")
    if (np.diff(bag_id) < 0).any() or (len(bag_id) and (bag_id[0] < 0 or bag_id[-1] >= n_bags)):
        raise BagtagError(f"{path}: bag ids must be sorted and between 0 and {n_bags - 1}.")


def read_arff(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int8], list[str], list[str]]:
    """Return `X`, `offsets`, `tags`, `classes` and bag names of a MIML relational `.arff`.

    The header declares a bag id, one relational attribute with the features, then one nominal {0,1} attribute per
    label. A data row is `id,"row\\nrow\\n...",0,1,...`, where the quoted cell has one line of numbers per segment.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BagtagError(f"{path} cannot be read: {error.strerror}.") from None
    header, separator, body = _split_at_data(text)
    if not separator:
        raise BagtagError(f"{path} has no @data line; is it an .arff file?")
    n_features, classes = _read_header(path, header)
    rows: list[NDArray[np.float64]] = []
    tags, names = [], []
    for line in body.splitlines():
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        name, bag, labels = _split_row(path, line)
        rows.append(_read_bag(path, name, bag, n_features))
        if len(labels) != len(classes):
            raise BagtagError(f"{path}: bag {name!r} has {len(labels)} tags, {len(classes)} were declared.")
        tags.append([1 if label == "1" else -1 for label in labels])
        names.append(name)
    if not rows:
        raise BagtagError(f"{path} has no bags.")
    offsets = np.concatenate([[0], np.cumsum([len(bag) for bag in rows])])
    return np.concatenate(rows), offsets, np.array(tags, dtype=np.int8), classes, names


def _split_at_data(text: str) -> tuple[str, str, str]:
    at = text.lower().find("\n@data")
    if at < 0:
        return text, "", ""
    end = text.find("\n", at + 1)
    return text[:at], "@data", text[end + 1 :] if end >= 0 else ""


def _read_header(path: Path, header: str) -> tuple[int, list[str]]:
    """Return the number of features inside the relational attribute, and the label names after it."""
    n_features, classes, inside, seen = 0, [], False, False
    for line in header.splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        keyword = words[0].lower()
        if keyword == "@end":
            inside = False
        elif keyword == "@attribute" and words[-1].lower() == "relational":
            inside = seen = True
        elif keyword == "@attribute" and inside:
            n_features += 1
        elif keyword == "@attribute" and seen:
            classes.append(words[1].strip("'\""))
    if not n_features or not classes:
        raise BagtagError(f"{path} declares no relational bag attribute followed by labels; is it a MIML .arff?")
    return n_features, classes


def _split_row(path: Path, line: str) -> tuple[str, str, list[str]]:
    for quote in ('"', "'"):
        start, end = line.find(quote), line.rfind(quote)
        if 0 <= start < end:
            name = line[:start].rstrip().rstrip(",").strip("'\" ")
            labels = [label.strip() for label in line[end + 1 :].strip().lstrip(",").split(",")]
            return name, line[start + 1 : end], labels
    raise BagtagError(f"{path}: the row starting {line[:40]!r} has no quoted bag.")


def _read_bag(path: Path, name: str, bag: str, n_features: int) -> NDArray[np.float64]:
    try:
        values = np.array([[float(cell) for cell in row.split(",")] for row in bag.split("\\n") if row.strip()])
    except ValueError as error:
        raise BagtagError(f"{path}: bag {name!r} contains something that is not a number ({error}).") from None
    if values.ndim != 2 or values.shape[1] != n_features:
        raise BagtagError(f"{path}: bag {name!r} does not have {n_features} numbers in every row.")
    return values
