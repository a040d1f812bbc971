"""Perceptually uniform colour maps for spectrograms, with 256 colours each.

Viridis, magma and inferno are those of Smith, van der Walt and Firing (public domain, CC0), kept as 33 anchor
colours; the colours between them are within two levels of the originals.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError

_ANCHORS = {
    "viridis": (
        "440154 470d60 48186a 482374 472d7b 453681 424086 3f4989 3b528b 375a8d 33638d "
        "2f6a8e 2c728e 297a8e 26818e 23898e 21908c 1f988b 1f9f88 21a685 28ae80 31b57b "
        "3ebc74 4cc26c 5dc963 6ece58 82d34c 96d83f abdc32 c0df24 d5e21a eae51a fde725"
    ),
    "magma": (
        "000004 030311 0a0822 130d33 1d1146 28115a 36106a 430f76 50127c 5d177f 691c81 "
        "762181 822681 8f2a81 9c2e7f a9327d b63779 c33b75 cf4170 db486a e65163 ee5c5e "
        "f5695c f9785d fb8761 fd9668 fea571 feb47b fec387 fed194 fde0a2 fceeb0 fcfdbf"
    ),
    "inferno": (
        "000004 040312 0b0724 150b37 210c4a 2e0a5a 3c0965 4a0c6b 57106d 63146e 70196e "
        "7d1e6d 89226a 962766 a32b61 af315c bb3755 c63e4d d14644 db4f3b e35932 eb6528 "
        "f1711e f67f14 f98d0a fb9c06 fcab0f fbba1f f9ca32 f5d949 f2e865 f3f586 fcffa4"
    ),
    "grey": "000000 ffffff",
    "inverted grey": "ffffff 000000",
}

COLOUR_MAPS = tuple(_ANCHORS)
"""Names, in the order in which menus list them."""


@cache
def colour_map(name: str) -> NDArray[np.uint8]:
    """Return the (256, 3) red, green and blue of a colour map, from quiet to loud.

    Examples
    --------
    >>> colour_map("grey")[[0, 255]].tolist()
    [[0, 0, 0], [255, 255, 255]]
    """
    if name not in _ANCHORS:
        raise BagtagError(f"There is no colour map {name!r}; choose one of {', '.join(COLOUR_MAPS)}.")
    anchors = np.array([list(bytes.fromhex(colour)) for colour in _ANCHORS[name].split()], dtype=float)
    places = np.linspace(0, len(anchors) - 1, 256)
    colours = [np.interp(places, np.arange(len(anchors)), anchors[:, part]) for part in range(3)]
    table = np.stack(colours, axis=1).round().astype(np.uint8)
    table.setflags(write=False)
    return table
