"""Read constants of a TFLite model, and cut a part out of its graph.

A model is a FlatBuffer: tables that refer to each other by offsets. The part is cut out in memory, by changing the
lists of inputs, outputs and operators in place; the weights stay where they are.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OPERATORS_FIELD = 10  # position of `operators` in the table SubGraph of TFLite's schema
_TYPES = {0: np.float32, 2: np.int32}


class Graph:
    """The graph of a TFLite model with one input and one output.

    Parameters
    ----------
    content : bytes or bytearray
        The whole file, of a model that is known to be undamaged; it is not copied. A part can be cut out of a bytearray
        only, which is changed by that.
    """

    def __init__(self, content: bytes | bytearray) -> None:
        from ai_edge_litert.schema_py_generated import Model

        self._content = content
        self._model = Model.GetRootAs(self._content)
        self._graph = self._model.Subgraphs(0)

    def constant(self, index: int) -> NDArray[Any]:
        """Return the values of a constant tensor in its shape: a view of the content."""
        tensor = self._graph.Tensors(index)
        values = self._model.Buffers(tensor.Buffer()).DataAsNumpy().view(_TYPES[tensor.Type()])
        return np.asarray(values.reshape(tensor.ShapeAsNumpy() if tensor.ShapeLength() else ()))

    def cut(self, first: int, last: int, shape: tuple[int, ...]) -> bytes:
        """Return a model that computes the tensor `last` from the tensor `first`, which gets the shape `shape`.

        All operators between the two must depend on no other tensor that is computed before `first`.
        """
        before, after = self._maker(first) + 1, self._maker(last) + 1
        table = self._graph._tab
        place = table.Vector(table.Offset(_OPERATORS_FIELD))
        count = self._graph.OperatorsLength()
        # An operator is stored as its distance from the place of the entry, and each entry moves forward.
        operators = np.frombuffer(self._content, dtype="<u4", count=count, offset=place)
        operators[: after - before] = operators[before:after] + np.uint32(4 * before)
        struct.pack_into("<I", self._content, place - 4, after - before)
        self._graph.InputsAsNumpy()[0] = first
        self._graph.OutputsAsNumpy()[0] = last
        tensor = self._graph.Tensors(first)
        for sizes in (tensor.ShapeAsNumpy(), tensor.ShapeSignatureAsNumpy()):
            sizes[:] = shape
        return bytes(self._content)

    def _maker(self, tensor: int) -> int:
        """Return the number of the operator that computes a tensor."""
        return next(
            number
            for number in range(self._graph.OperatorsLength())
            if tensor in self._graph.Operators(number).OutputsAsNumpy()
        )
