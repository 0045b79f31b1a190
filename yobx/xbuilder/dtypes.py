"""Element types: one way from any spelling to :class:`~yobx.onnx_optim.TensorType`, and back."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx

from yobx.errors import ArgumentError, GraphError
from yobx.onnx_optim.tensor_type import TensorType, from_numpy, to_numpy

__all__ = ["DTypeLike", "as_array", "element_type"]

DTypeLike: TypeAlias = TensorType | int | npt.DTypeLike
"""What is accepted as an element type: TensorType, TensorProto number, numpy dtype or its name."""


def element_type(dtype: DTypeLike) -> TensorType:
    """Turns any accepted spelling of an element type into a ``TensorType``.

    Args:
        dtype: ``TensorType``, number of ``onnx.TensorProto.DataType``, numpy dtype or its name.

    Returns:
        The element type.

    Raises:
        GraphError: If nothing in ONNX corresponds to it.
    """
    if isinstance(dtype, TensorType):
        return dtype
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        try:
            return TensorType(int(dtype))
        except ValueError:
            raise GraphError(
                f"Unknown element type. Received: dtype={dtype!r}.",
                hint="Try a value of onnx.TensorProto.DataType or a numpy dtype.",
            ) from None
    if isinstance(dtype, str) and dtype.upper() in onnx.TensorProto.DataType.keys():  # noqa: SIM118
        return TensorType(onnx.TensorProto.DataType.Value(dtype.upper()))
    try:
        if isinstance(dtype, bool):
            raise TypeError(dtype)
        return from_numpy(dtype)
    except (TypeError, ArgumentError):
        raise GraphError(
            f"ONNX has no element type for this dtype. Received: dtype={dtype!r}.",
            hint="Try a value of onnx.TensorProto.DataType or a numpy dtype.",
        ) from None


def as_array(
    value: npt.ArrayLike | onnx.TensorProto, dtype: TensorType | None = None
) -> npt.NDArray[np.generic]:
    """Makes an array of a Python number, list or array; arrays pass through uncopied.

    Args:
        value: Array, number, string, nested list of these, or tensor proto.
        dtype: Element type wanted; by default arrays keep theirs, Python ``int`` becomes int64,
            ``float`` float32 and ``str`` string.

    Returns:
        The array; the very same object when it already fits.

    Raises:
        GraphError: If the values do not fit the element type.
    """
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    if hasattr(value, "__array__") and not isinstance(value, np.ndarray | np.generic):
        value = _contents(value)
    if isinstance(value, np.ndarray) and value.dtype == np.dtype(object):
        _check_strings(value)
    if isinstance(value, np.ndarray) and dtype is None:
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if dtype is None:
        array = np.asarray(value)
        if not isinstance(value, np.generic) and array.dtype == np.float64:
            array = array.astype(np.float32)
        elif not isinstance(value, np.generic) and array.dtype == np.complex128:
            array = array.astype(np.complex64)
    else:
        target = to_numpy(dtype)
        raw = np.asarray(value)
        if raw.dtype.kind in "OUST" or target == np.dtype(object):
            array = raw.astype(target)
        else:
            array = raw.astype(target, copy=False)
            if target.kind in "iub" and not np.array_equal(array, raw):
                raise GraphError(
                    f"The value does not fit the element type. Received: value={value!r}, "
                    f"dtype={dtype.name}.",
                    hint="Try a value in range, or an array of another dtype.",
                )
    if array.dtype == np.dtype(object):
        _check_strings(array)
    element_type(array.dtype)  # refuses what ONNX cannot hold
    return array


def _contents(tensor: Any) -> npt.NDArray[np.generic]:
    """The values of a tensor of a framework; one that is being traced has none."""
    try:
        return np.asarray(tensor)
    except (NotImplementedError, TypeError) as error:
        name = getattr(tensor, "name", None)
        advice = f"Pass its name, {name!r}." if isinstance(name, str) else "Pass its name."
        raise GraphError(
            "A constant has values now. Received: a tensor without any, of type "
            f"{type(tensor).__name__}.",
            hint=advice,
        ) from error


def _check_strings(array: npt.NDArray[np.generic]) -> None:
    odd = next((item for item in array.ravel() if not isinstance(item, str | bytes)), None)
    if odd is not None:
        raise GraphError(
            "A constant is made of numbers, booleans or strings. Received: "
            f"{odd!r} of type {type(odd).__name__}.",
            hint="Pass the name of a value, an array or a number.",
        )
