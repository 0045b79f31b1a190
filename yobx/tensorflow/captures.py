"""What a traced function captures: variables and eager tensors, as initializers without a copy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Capture", "captures_of", "tensor_value"]


@dataclass(frozen=True)
class Capture:
    """One captured value.

    Attributes:
        tensor: The placeholder that stands for it in the graph.
        name: Name for an initializer.
        value: Its value, sharing the buffer with TensorFlow; ``None`` for a resource that is not a
            variable, such as a table.
        handle: The captured tensor itself.
    """

    tensor: Any
    name: str
    value: npt.NDArray[Any] | None
    handle: Any


def tensor_value(tensor: Any) -> npt.NDArray[Any]:
    """Returns the value of an eager tensor; no copy, except of strings.

    TensorFlow replaces the buffer of a variable that is written while somebody reads it, so the
    value stays what it is.

    Args:
        tensor: Eager tensor.
    """
    if tensor.dtype.name == "string":
        value = np.asarray(tensor.numpy(), object)
        return np.array([v.decode() for v in value.ravel()], object).reshape(value.shape)
    # A scalar of a type that numpy does not know comes as a number, not as an array.
    return np.asarray(tensor.numpy() if tensor.shape.rank == 0 else tensor)


def captures_of(
    function: Any, needed: set[Any], variable_names: Mapping[int, str]
) -> Iterator[Capture]:
    """Yields the captured values that the results depend on.

    Args:
        function: The ``ConcreteFunction``.
        needed: Operations that the results depend on.
        variable_names: ``id(handle)`` -> better names for variables.

    Yields:
        Captures, in the order of the function's inputs.
    """
    import tensorflow as tf

    variables = {id(variable.handle): variable for variable in function.variables}
    handles = function.captured_inputs
    placeholders = function.inputs[len(function.inputs) - len(handles) :]
    for handle, tensor in zip(handles, placeholders, strict=True):
        if tensor.op not in needed:
            continue
        variable = variables.get(id(handle))
        if handle.dtype != tf.resource:
            yield Capture(tensor, _constant_name(tensor), tensor_value(handle), handle)
        elif variable is not None:
            name = variable_names.get(id(handle)) or variable.name.partition(":")[0]
            value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=variable.dtype)
            yield Capture(tensor, name, tensor_value(value), handle)
        else:
            yield Capture(tensor, _constant_name(tensor), _held(handle), handle)


def _held(handle: Any) -> npt.NDArray[Any] | None:
    """Returns what a variable holds whose handle was used alone, or ``None`` if it is none."""
    import tensorflow as tf

    known = getattr(handle, "_handle_data", None)
    if known is None or not known.is_set or len(known.shape_and_type) != 1:
        return None
    dtype = tf.dtypes.as_dtype(known.shape_and_type[0].dtype)
    return tensor_value(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))


def _constant_name(tensor: Any) -> str:
    """Names a captured tensor after its place; TensorFlow puts a running number there."""
    scope, slash, last = tensor.op.name.rpartition("/")
    if re.fullmatch(r"(unknown_?)?\d*", last):
        last = "constant"
    return f"{scope}{slash}{last}"
