"""The compiled loop over pixels behind the visual features."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def band_means(planes, mask, top, left, reach):
    """Return the (3, planes) mean of each plane over a band above, below and beside a region; NaN without a band.

    A band is the region moved by `reach` pixels, less the region and what is off the picture.
    """
    n_planes, height, width = planes.shape
    sums, counts = np.zeros((3, n_planes)), np.zeros(3)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if not mask[i, j]:
                continue
            for side, down, right in ((0, -reach, 0), (1, reach, 0), (2, 0, -reach), (2, 0, reach)):
                k, m = i + down, j + right
                if 0 <= k < mask.shape[0] and 0 <= m < mask.shape[1] and mask[k, m]:
                    continue
                if 0 <= k + top < height and 0 <= m + left < width:
                    counts[side] += 1
                    for p in range(n_planes):
                        sums[side, p] += planes[p, k + top, m + left]
    return sums / counts.reshape(3, 1)
