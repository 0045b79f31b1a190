"""What a model declares of its inputs and outputs, beside the arrays of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from yobx.verification.dtypes import dtype_name
from yobx.verification.runner import input_names

__all__ = ["symbolic", "unfit"]


def unfit(model: onnx.ModelProto, leaves: Sequence[NDArray[Any]]) -> str:
    """Tells which input is not what the model declares.

    Args:
        model: The model.
        leaves: One array for each of its inputs.

    Returns:
        A sentence, or ``""``.
    """
    fed = set(input_names(model))
    declared = [value for value in model.graph.input if value.name in fed]
    for value, leaf in zip(declared, leaves, strict=True):
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or not isinstance(leaf, (np.ndarray, np.generic)):
            continue
        kind = dtype_name(np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
        dims = [dim.dim_param or dim.dim_value or "?" for dim in tensor.shape.dim]
        sizes = list(np.shape(leaf))
        fits = not tensor.HasField("shape") or (
            len(dims) == len(sizes)
            and all(isinstance(d, str) or d == n for d, n in zip(dims, sizes, strict=True))
        )
        if kind != dtype_name(leaf.dtype) or not fits:
            shape = "[" + ", ".join(map(str, dims)) + "]" if tensor.HasField("shape") else ""
            return (
                f"the input {value.name} of the converted model is {kind} {shape}, and was given "
                f"{dtype_name(leaf.dtype)} {sizes}"
            )
    return ""


def symbolic(model: onnx.ModelProto, name: str, actual: Any) -> str:
    """Returns the shape of an output as declared, with what the symbols were: ``[B=7, 768]``.

    Args:
        model: The model.
        name: Name of the output.
        actual: What came out.
    """
    sizes = () if isinstance(actual, list) else np.shape(actual)
    declared = next((o for o in model.graph.output if o.name == name), None)
    dims = list(declared.type.tensor_type.shape.dim) if declared is not None else []
    if len(dims) != len(sizes):
        return "[" + ", ".join(map(str, sizes)) + "]"
    cells = [
        f"{d.dim_param}={n}" if d.dim_param else str(n) for d, n in zip(dims, sizes, strict=True)
    ]
    return "[" + ", ".join(cells) + "]"
