"""Convert the masks of regions to flat arrays, for the kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miml_core.segments.regions import Region

Numbers = NDArray[np.int64]


def mask_arrays(
    regions: Sequence[Region],
) -> tuple[NDArray[np.bool_], Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Return all masks row by row, the start of each, and the tops, lefts, heights and widths of the boxes."""
    masks = np.concatenate([region.mask.ravel() for region in regions])
    places = np.array([(region.top, region.left, *region.mask.shape) for region in regions], dtype=np.int64)
    tops, lefts, heights, widths = np.ascontiguousarray(places.T)
    starts = np.concatenate([[0], np.cumsum(heights * widths)[:-1]])
    return masks, starts, tops, lefts, heights, widths
