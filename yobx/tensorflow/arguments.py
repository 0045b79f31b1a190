"""Example arguments of any accepted form, brought to one: a call whose tensors are known by path.

A tensor may be given as a numpy array, a TensorFlow, Keras or JAX tensor, a ``tf.TensorSpec``, or
an ``onnx.ValueInfoProto``; it may sit in dicts, lists and tuples. Anything else
(``None``, ``True``, a number, a string) is a constant of the conversion, as in ``tf.function``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from yobx.errors import ArgumentError
from yobx.tensorflow.structure import Path, flatten_with_path, path_text, rebuild

__all__ = ["CallArguments", "InputLeaf", "normalise_arguments"]

Size = int | str | None


@dataclass(frozen=True)
class InputLeaf:
    """One tensor among the arguments of a call.

    Attributes:
        path: Where it is: ``("args", 0, ...)`` or ``("kwargs", "mask", ...)``.
        dtype: TensorFlow dtype name, for example ``"float32"`` or ``"string"``.
        shape: One entry per axis: a size, a name, or ``None`` for any size; ``None`` instead of a
            tuple when the rank is unknown.
        name: Name that the argument itself carries, or ``""``.
        concrete: Whether the sizes are those of data, and not a declaration.
    """

    path: Path
    dtype: str
    shape: tuple[Size, ...] | None
    name: str = ""
    concrete: bool = False

    @property
    def where(self) -> str:
        """The place of this tensor in words, for messages."""
        kind, first, *rest = self.path
        head = f"{kind}[{first!r}]"
        return head + "".join(f"[{label!r}]" for label in rest)

    def __str__(self) -> str:
        """Writes the dtype and shape, for messages."""
        if self.shape is None:
            return f"{self.dtype}[rank unknown]"
        return f"{self.dtype}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"


@dataclass(frozen=True)
class CallArguments:
    """The arguments of one call, with an :class:`InputLeaf` in the place of every tensor.

    Attributes:
        args: Positional arguments.
        kwargs: Keyword arguments.
        leaves: The tensors, in the framework's order: positional ones first, then by keyword.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: tuple[InputLeaf, ...]

    @property
    def positional(self) -> tuple[InputLeaf, ...]:
        """The tensors among the positional arguments, which come first."""
        return tuple(leaf for leaf in self.leaves if leaf.path[0] == "args")

    def fill(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Puts one value for each of :attr:`leaves` into the call.

        Args:
            tensors: The values, in the order of :attr:`leaves`.

        Returns:
            Positional and keyword arguments.
        """
        supply = iter(tensors)
        flat = [
            next(supply) if isinstance(leaf, InputLeaf) else leaf
            for _, leaf in flatten_with_path((self.args, self.kwargs))
        ]
        filled: tuple[tuple[Any, ...], dict[str, Any]] = rebuild((self.args, self.kwargs), flat)
        return filled


def normalise_arguments(args: Any, kwargs: Mapping[str, Any] | None = None) -> CallArguments:
    """Reads the arguments of a call.

    Args:
        args: A tuple or list of positional arguments; a single tensor, spec or dict is taken as
            the only one.
        kwargs: Keyword arguments.

    Returns:
        The call.

    Raises:
        ArgumentError: If an argument is a tensor of a kind or dtype that cannot be an input.
    """
    if type(args) is list:
        args = tuple(args)
    elif not isinstance(args, tuple) or hasattr(args, "_fields"):
        args = (args,)
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ArgumentError(
            f"kwargs is a dict of keyword arguments. Received: kwargs={kwargs!r}.",
            argument="kwargs",
        )
    tree = {"args": args, "kwargs": dict(kwargs or {})}
    leaves: list[InputLeaf] = []
    flat: list[Any] = []
    for path, value in flatten_with_path(tree):
        leaf = _read_leaf(path, value)
        flat.append(value if leaf is None else leaf)
        if leaf is not None:
            leaves.append(leaf)
    filled = rebuild(tree, flat)
    return CallArguments(filled["args"], filled["kwargs"], tuple(leaves))


def _read_leaf(path: Path, value: Any) -> InputLeaf | None:
    """Describes a tensor; ``None`` when the value is a constant of the conversion."""
    if isinstance(value, InputLeaf):
        return InputLeaf(path, value.dtype, value.shape, value.name, value.concrete)
    if isinstance(value, onnx.ValueInfoProto):
        return _read_value_info(path, value)
    if isinstance(value, np.ndarray | np.generic):
        return InputLeaf(path, _array_dtype(path, value), tuple(value.shape), concrete=True)
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or not hasattr(value, "shape"):
        return None
    is_composite = type(value).__name__ in {"RaggedTensorSpec", "SparseTensorSpec"}
    if is_composite or hasattr(value, "row_splits") or hasattr(value, "dense_shape"):
        raise ArgumentError(
            "An input is a dense tensor: ONNX has no ragged or sparse ones. Received: "
            f"{path_text(path)}={type(value).__name__}.",
            argument=path_text(path),
            hint=(
                "Try value.to_tensor() or "
                "tf.sparse.to_dense, and build the ragged or sparse tensor inside the model."
            ),
        )
    return InputLeaf(
        path,
        _dtype_name(path, dtype),
        _sizes(shape),
        name=_own_name(value),
        concrete=hasattr(value, "__array__"),
    )


def _own_name(value: Any) -> str:
    """Returns the name of a ``tf.TensorSpec``; tensors have names that nobody chose."""
    if hasattr(value, "__array__") or type(value).__name__ != "TensorSpec":
        return ""
    return str(value.name or "")


def _sizes(shape: Any) -> tuple[Size, ...] | None:
    if getattr(shape, "rank", 0) is None or shape is None:
        return None
    return tuple(None if size is None else int(size) for size in shape)


def _array_dtype(path: Path, array: np.ndarray[Any, Any] | np.generic) -> str:
    if array.dtype.kind in "US":
        return "string"
    if array.dtype.kind == "O":
        items = np.asarray(array).ravel()
        odd = next((item for item in items if not isinstance(item, str | bytes)), None)
        if odd is not None:
            raise ArgumentError(
                "An array of Python objects is an input when all of them are strings. Received: "
                f"{path_text(path)} with an element of type {type(odd).__name__}.",
                argument=path_text(path),
                hint="Try an array with a numeric dtype.",
            )
        return "string"
    return _dtype_name(path, array.dtype)


def _dtype_name(path: Path, dtype: Any) -> str:
    import tensorflow as tf

    try:
        return str(tf.as_dtype(dtype).name)
    except TypeError:
        raise ArgumentError(
            f"An input has a dtype that TensorFlow knows. Received: {path_text(path)} of dtype "
            f"{dtype!r}.",
            argument=path_text(path),
            hint="Try an array of numbers, booleans or strings.",
        ) from None


def _read_value_info(path: Path, value: onnx.ValueInfoProto) -> InputLeaf:
    if not value.type.HasField("tensor_type") or not value.type.tensor_type.elem_type:
        raise ArgumentError(
            "A ValueInfoProto among the arguments describes a tensor with a dtype. Received: "
            f"{path_text(path)}={value.name!r} without one.",
            argument=path_text(path),
            hint="Try onnx.helper.make_tensor_value_info(name, dtype, shape).",
        )
    tensor = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    name = "string" if dtype.kind == "O" else _dtype_name(path, dtype)
    shape: tuple[Size, ...] | None = None
    if tensor.HasField("shape"):
        shape = tuple(
            int(dim.dim_value) if dim.HasField("dim_value") else (dim.dim_param or None)
            for dim in tensor.shape.dim
        )
    return InputLeaf(path, name, shape, name=value.name)
