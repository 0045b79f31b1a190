"""The arguments of a source: descriptions become arrays, and arrays are put back in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.onnx_optim.sizes import as_written
from yobx.verification import tree
from yobx.verification.dtypes import is_float
from yobx.verification.inputs import generate
from yobx.verification.sources import InputSpec, is_tensor, value_spec

__all__ = [
    "as_pairs",
    "as_tuple",
    "fill",
    "from_pairs",
    "in_precision",
    "is_description",
    "source_arrays",
    "strings_that_are_constants",
    "tensors_of",
    "with_descriptions",
    "with_string_arrays",
]


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Positional arguments: a list is one too, anything else is the only argument."""
    if type(args) is list:
        return tuple(args)
    return args if type(args) is tuple else (args,)


def with_string_arrays(args: Any) -> Any:
    """Lists of strings as arrays, where nothing else among the arguments is one.

    As constants, which Python values are, they would leave a model without inputs.

    Args:
        args: Inputs as they were given.
    """
    if any(is_tensor(leaf) for _, leaf in tree.flatten(as_tuple(args))):
        return args
    if type(args) is list and _string_array(args) is not None:
        return (_string_array(args),)
    arrays = ((one, _string_array(one)) for one in as_tuple(args))
    return tuple(one if array is None else array for one, array in arrays)


def _string_array(value: Any) -> NDArray[Any] | None:
    """The array that a nested list of strings is, ``None`` for anything else."""
    if type(value) is not list or not value:
        return None
    array = np.array(value, dtype=object)
    return array if all(isinstance(item, str | bytes) for item in array.ravel()) else None


def strings_that_are_constants(args: Any) -> str:
    """Says of lists of strings that they are no inputs: beside a tensor, Python values never are.

    Args:
        args: Inputs as the conversion receives them, nested.

    Returns:
        A note, or ``""``.
    """
    array = _string_array(args)
    if array is not None:
        return (
            f"{args!r:.60} is a constant of the converted model, as every Python value is in "
            "tf.function: give an array of strings, np.array([...], object), for an input"
        )
    children = args.values() if isinstance(args, Mapping) else args
    if not isinstance(children, Iterable) or not isinstance(args, Mapping | tuple | list):
        return ""
    return next(filter(None, map(strings_that_are_constants, children)), "")


def tensors_of(args: tuple[Any, ...]) -> list[NDArray[Any]]:
    """The tensors among the arguments, in the framework's order; constants are left out."""
    return [leaf for _, leaf in tree.flatten(args) if is_tensor(leaf)]


def source_arrays(args: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    """Makes every tensor a numpy array.

    Args:
        args: Arrays, tensors, ``tf.TensorSpec``, ``onnx.ValueInfoProto``, constants, nested.
        seed: Seed of the arrays that are generated from descriptions.

    Returns:
        The same structure.
    """
    leaves = [leaf for _, leaf in tree.flatten(args)]
    specs = {i: _described(leaf) for i, leaf in enumerate(leaves) if is_description(leaf)}
    made = dict(zip(specs, generate(list(specs.values()), seed), strict=True))
    ready = [
        made[i] if i in made else _plain(leaf) if is_tensor(leaf) else leaf
        for i, leaf in enumerate(leaves)
    ]
    return tuple(tree.rebuild(args, ready))


def with_descriptions(args: tuple[Any, ...], declared: tuple[Any, ...]) -> tuple[Any, ...]:
    """Puts descriptions back in the place of the arrays that were made from them.

    Args:
        args: What `source_arrays` made of `declared`, perhaps in another precision.
        declared: Arrays, descriptions and constants, nested.

    Returns:
        The structure of `args`, whose described leaves have open sizes again.
    """
    pairs = zip(tree.flatten(args), tree.flatten(declared), strict=True)
    leaves = [
        _redescribed(leaf, array) if is_description(leaf) else array
        for (_, array), (_, leaf) in pairs
    ]
    return tuple(tree.rebuild(args, leaves))


def _redescribed(leaf: Any, array: NDArray[Any]) -> Any:
    """A description with the dtype of the array."""
    if _described(leaf).dtype == array.dtype:
        return leaf
    if isinstance(leaf, onnx.ValueInfoProto):
        other = onnx.ValueInfoProto()
        other.CopyFrom(leaf)
        other.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        return other
    name = getattr(leaf, "name", None)
    return type(leaf)(leaf.shape, array.dtype, **({"name": name} if name else {}))


def in_precision(args: tuple[Any, ...], precision: str) -> tuple[Any, ...]:
    """Gives the real float tensors another dtype.

    Args:
        args: Arrays and constants, nested.
        precision: Name of the dtype, or ``source`` to leave them as they are.

    Returns:
        The same structure.
    """
    if precision == "source":
        return args
    dtype = np.dtype(getattr(ml_dtypes, precision, precision))
    leaves = [leaf for _, leaf in tree.flatten(args)]
    ready = [
        leaf.astype(dtype)
        if is_tensor(leaf) and is_float(leaf.dtype) and leaf.dtype.kind != "c"
        else leaf
        for leaf in leaves
    ]
    return tuple(tree.rebuild(args, ready))


def fill(args: tuple[Any, ...], arrays: Sequence[NDArray[Any]]) -> tuple[Any, ...]:
    """Puts other arrays in the place of the tensors; constants stay."""
    supply = iter(arrays)
    leaves = [next(supply) if is_tensor(leaf) else leaf for _, leaf in tree.flatten(args)]
    return tuple(tree.rebuild(args, leaves))


def _plain(leaf: Any) -> NDArray[Any]:
    """An array as onnxruntime and every framework take it: native bytes, strings as ``str``."""
    array = np.asarray(leaf)
    if array.dtype.kind in "SUO":
        return np.array(
            [s.decode(errors="replace") if isinstance(s, bytes) else s for s in array.ravel()],
            dtype=object,
        ).reshape(array.shape)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_pairs(array: NDArray[Any]) -> NDArray[Any]:
    """A complex array as ONNX has it: real, with a last axis for the two parts; others as is."""
    if isinstance(array, np.ndarray) and array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1)
    return array


def from_pairs(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array that `as_pairs` made of one of this dtype."""
    if dtype.kind != "c" or array.dtype.kind == "c":
        return array
    return np.ascontiguousarray(array).view(dtype)[..., 0]


def is_description(leaf: object) -> bool:
    if isinstance(leaf, onnx.ValueInfoProto):
        return True
    return is_tensor(leaf) and not hasattr(leaf, "__array__")


def _described(leaf: Any) -> InputSpec:
    if isinstance(leaf, onnx.ValueInfoProto):
        return value_spec(leaf)
    dtype = np.dtype(getattr(leaf.dtype, "as_numpy_dtype", leaf.dtype))
    name = getattr(leaf, "name", "") or ""
    if getattr(leaf.shape, "rank", 0) is None:
        return InputSpec(name, dtype, None)
    return InputSpec(name, dtype, as_written(leaf.shape))
