"""Equal initializers, kept once."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import onnx_ir as ir

from yobx.passes.graph_edit import graphs_of

__all__ = ["merge_initializers"]

Array = npt.NDArray[Any]
_END_BYTES = 64


def merge_initializers(model: ir.Model) -> None:
    """Makes all users of equal initializers share one; graph outputs keep their own.

    Args:
        model: Model, changed in place.
    """
    for graph in graphs_of(model):
        # Only those whose ends agree are compared as a whole, so most weights are never read.
        alike: dict[tuple[object, ...], list[ir.Value]] = {}
        for value in list(graph.initializers.values()):
            tensor = value.const_value
            if (
                tensor is None
                or isinstance(tensor, ir.LazyTensor)
                or tensor.dtype == ir.DataType.STRING
                or value.is_graph_input()
                or value.is_graph_output()
            ):
                continue
            array = tensor.numpy()
            key = (tensor.dtype, array.shape, _ends(array))
            first = next((one for one in alike.get(key, ()) if _same(one, array)), None)
            if first is None:
                alike.setdefault(key, []).append(value)
            else:
                value.replace_all_uses_with(first)
                del graph.initializers[value.name or ""]


def _ends(array: Array) -> bytes:
    """The first and last elements, bit by bit."""
    count = _END_BYTES // array.itemsize
    flat = array.flat
    return flat[:count].tobytes() + flat[max(array.size - count, 0) :].tobytes()


def _same(value: ir.Value, array: Array) -> bool:
    """Whether an initializer has these very bits: a zero has a sign, a NaN equals itself."""
    tensor = value.const_value
    other = None if tensor is None else tensor.numpy()
    return other is array or (other is not None and other.tobytes() == array.tobytes())
