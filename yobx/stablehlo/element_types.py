"""Element types that ONNX does not have, or not in the opset that is written."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx

from yobx.errors import OpOccurrence, UnsupportedDtypeError
from yobx.onnx_optim.tensor_type import tensor_type, to_numpy

__all__ = ["has_type", "refuse_unknown_type"]


def refuse_unknown_type(
    dtype: np.dtype[Any], opset: int, place: OpOccurrence | None = None
) -> None:
    """Refuses an element type that no value of an opset can have.

    Args:
        dtype: The element type.
        opset: Opset of the standard domain.
        place: Where a value has it, ``None`` for an input.

    Raises:
        UnsupportedDtypeError: If it is one; the opset that has it is named.
    """
    if has_type(dtype, opset):
        return
    newer = range(opset + 1, int(onnx.defs.onnx_opset_version()) + 1)
    since = next((version for version in newer if has_type(dtype, version)), None)
    where = f"{place.op_type} at {place.layer} {place.detail}" if place else "an input"
    advice = f"target_opset={since}, or another type" if since else "another type"
    raise UnsupportedDtypeError(
        f"A value has a type that opset {opset} of ONNX has. Received: {dtype.name}, of {where}.",
        place,
        sorted(_casts(opset)),
        hint=f"Try {advice}.",
    )


def has_type(dtype: np.dtype[Any], opset: int) -> bool:
    """Whether an opset has values of an element type; complex ones are pairs of real ones."""
    return dtype.kind == "c" or dtype.name in _casts(opset)


@cache
def _casts(opset: int) -> frozenset[str]:
    """Names of the types that Cast gives in an opset: all but complex ones."""
    schema = onnx.defs.get_schema("Cast", opset, "")
    output = next(c for c in schema.type_constraints if c.type_param_str == "T2")
    words = (text.removeprefix("tensor(").removesuffix(")") for text in output.allowed_type_strs)
    numbers = (onnx.TensorProto.DataType.Value(word.upper()) for word in words)
    return frozenset(to_numpy(tensor_type(int(number))).name for number in numbers)
