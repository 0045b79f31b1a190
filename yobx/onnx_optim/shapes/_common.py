"""What every shape rule needs: registration by name, axes, broadcasting, small helpers.

Rules are pure: they read a `NodeView` and return descriptors. The functions here keep them short
and hold each meaning (NumPy broadcasting, negative axes, optional inputs) exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.polynomial import factor_of
from yobx.onnx_optim.registry import REGISTRY, ShapeRule
from yobx.onnx_optim.tensor_type import BY_NUMBER, TensorType

__all__ = [
    "Dims",
    "Rule",
    "Steps",
    "argument",
    "axis_of",
    "broadcast",
    "broadcast_shape",
    "dims_of",
    "dtype_attribute",
    "guarded",
    "int_list",
    "known_ints",
    "positive",
    "product",
    "ranked",
    "register",
    "same_dim",
    "tensor",
    "unify",
    "without_value",
]

Dims = tuple[OptimDim, ...]
Rule = TypeVar("Rule", bound=ShapeRule)
Steps: TypeAlias = Generator[Any, Any, tuple[Descriptor, ...]]

ONE = OptimDim(1)
ZERO = OptimDim(0)

# A size formed by broadcasting remembers its parts, so that combining it again with one of them
# gives itself; a guarded size remembers what it is when it is not 0. Both statements hold for any
# model, so one bounded table serves all contexts.
_PARTS: dict[OptimDim, frozenset[OptimDim]] = {}
_GUARDED: dict[OptimDim, OptimDim] = {}
_TABLE_LIMIT = 4096


def guarded(entry: OptimDim, otherwise: OptimDim) -> OptimDim:
    """`entry` where it is positive, `otherwise` where it is 0; both are never negative."""
    result = OptimDim.max(entry, otherwise - otherwise * OptimDim.min(entry, ONE))
    if result != entry:
        if len(_GUARDED) >= _TABLE_LIMIT:
            _GUARDED.clear()
        _GUARDED[result] = entry
    return result


def _agreed(left: OptimDim, right: OptimDim) -> OptimDim | None:
    """The simpler of two sizes that are equal in every run that accepts them as equal.

    A guarded size differs from its entry only where that is 0, and then the two are not equal.
    """
    if _GUARDED.get(left) == right:
        return right
    return left if _GUARDED.get(right) == left else None


def register(
    op_types: str | Iterable[str], since: int = 1, domain: str = ""
) -> Callable[[Rule], Rule]:
    """Registers one rule for several operators.

    Args:
        op_types: Operator names, in one string separated by blanks or as an iterable.
        since: First opset version the rule is right for.
        domain: Operator domain.

    Returns:
        The decorator, which returns the rule unchanged.
    """
    names = op_types.split() if isinstance(op_types, str) else list(op_types)

    def decorate(rule: Rule) -> Rule:
        REGISTRY.register(domain, tuple(names), since, rule)
        return rule

    return decorate


def argument(node: NodeView, index: int) -> OptimTensor | None:
    """Descriptor of an optional tensor input, or None when it is absent."""
    inputs = node.inputs
    if index >= len(inputs):
        return None
    found = inputs[index]
    return found if isinstance(found, OptimTensor) else None


def dims_of(tensor_: OptimTensor | None) -> Dims | None:
    """Dimensions of a descriptor, or None when its rank is unknown or it is absent."""
    if tensor_ is None or not tensor_.shape.has_rank():
        return None
    return tensor_.shape.dims()


def ranked(
    node: NodeView, item: OptimTensor | None, least: int, most: int | None = None
) -> Dims | None:
    """Dimensions of an input that must have `least` to `most` of them; None when unknown."""
    dims = dims_of(item)
    if dims is not None and (len(dims) < least or (most is not None and len(dims) > most)):
        wanted = (
            str(least)
            if most == least
            else f"at least {least}"
            if most is None
            else f"{least} to {most}"
        )
        node.fail(f"an input must have rank {wanted}, its rank is {len(dims)}")
    return dims


def tensor(dtype: TensorType, dims: Iterable[OptimDim | int]) -> OptimTensor:
    """Descriptor of a tensor without known values."""
    return OptimTensor(dtype, OptimShape(dims))


def without_value(tensor_: OptimTensor, dtype: TensorType | None = None) -> OptimTensor:
    """The same shape, no statement on the values; the descriptor itself when it makes none."""
    if (
        tensor_.value is None
        and tensor_.constant is None
        and tensor_.minimum is None
        and tensor_.maximum is None
        and (dtype is None or dtype == tensor_.dtype)
    ):
        return tensor_
    return OptimTensor(tensor_.dtype if dtype is None else dtype, tensor_.shape)


def dtype_attribute(
    node: NodeView, name: str, default: TensorType = TensorType.kUndefined
) -> TensorType:
    """Element type that an attribute names; fails the node when there is no such type."""
    number = node.attr(name, None)
    if number is None:
        return default
    found = BY_NUMBER.get(number)
    if found is None or not (found.is_tensor or found == TensorType.kUndefined):
        node.fail(f"attribute {name}={number!r} is no element type")
    return found


def positive(node: NodeView, name: str, default: int = 1) -> int:
    """An integer attribute that must be at least 1; fails the node when it is not."""
    number = int(node.attr(name, default))
    if number < 1:
        node.fail(f"attribute {name}={number} must be positive")
    return number


def axis_of(node: NodeView, axis: int, rank: int) -> int:
    """Axis in `0..rank-1`; fails the node when it is out of range."""
    if not -rank <= axis < rank:
        node.fail(f"axis {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis


def product(dims: Iterable[OptimDim]) -> OptimDim:
    """Number of elements of a shape."""
    result = 1
    symbolic: OptimDim | None = None
    for dim in dims:
        if dim.is_int():
            result *= dim.as_int()
        else:
            symbolic = dim if symbolic is None else symbolic * dim
    if symbolic is None or result == 0:
        return OptimDim(result)
    return symbolic if result == 1 else symbolic * result


def same_dim(node: NodeView, left: OptimDim, right: OptimDim, what: str) -> OptimDim:
    """Size that two sides must share: the better known of both, and the equality is recorded.

    Raises:
        ShapeError: Both are integers and differ.
    """
    if left == right:
        return left
    if left.is_int():
        if right.is_int():
            node.fail(f"{what}: {left} and {right} must be equal")
        node.equal(left, right)
        return left
    agreed = _agreed(left, right)
    if agreed is not None:
        return agreed
    node.equal(left, right)
    return right if right.is_int() else left


def unify(node: NodeView, first: Dims, second: Dims, what: str) -> Dims:
    """Dimensions that two tensors of one rank must share."""
    if first is second or first == second:
        return first
    if len(first) != len(second):
        node.fail(f"{what}: ranks {len(first)} and {len(second)} must be equal")
    return tuple(same_dim(node, a, b, what) for a, b in zip(first, second, strict=True))


def _broadcast_symbols(node: NodeView, dims: Sequence[OptimDim]) -> OptimDim:
    """Broadcast sizes of which none is an integer and at least two differ."""
    simple = [node.simplify(dim) for dim in dims]
    if simple != list(dims):
        return broadcast_dim(node, simple)
    parts: set[OptimDim] = set()
    for dim in dims:
        parts |= _PARTS.get(dim) or {dim}
    # 0 and a guarded size either do not broadcast or give 0, so the entry alone tells the size.
    parts -= {part for part in parts if _GUARDED.get(part) in parts}
    parts.discard(ONE)
    if len(parts) == 1:
        return next(iter(parts))
    whole = frozenset(parts)
    for dim in dims:
        if _PARTS.get(dim) == whole:
            return dim
    large = [dim for dim in parts if _is_never_one(dim)]
    if large:
        # None of these can be the 1 that stretches, so all of them are the result.
        for other in large[1:]:
            node.equal(large[0], other)
        return min(large, key=lambda dim: (len(str(dim)), str(dim)))
    ordered = sorted(parts, key=str)
    largest = OptimDim.max(*ordered)
    result = largest * OptimDim.min(*ordered, ONE)
    if len(_PARTS) >= _TABLE_LIMIT:
        _PARTS.clear()
    _PARTS[result] = whole
    return result


def _is_never_one(dim: OptimDim) -> bool:
    """Tell whether a size is 2 at least, or a multiple of such a number and perhaps 0."""
    return (dim.bounds()[0] or 0) >= 2 or factor_of(dim.terms) >= 2


def broadcast_dim(node: NodeView, dims: Sequence[OptimDim]) -> OptimDim:
    """Size of one axis after NumPy broadcasting; exact for sizes 0 and 1 too."""
    number: int | None = None
    symbols: list[OptimDim] = []
    for dim in dims:
        if dim.is_int():
            size = dim.as_int()
            if size == 1:
                continue
            if number is not None and number != size:
                node.fail(f"sizes {number} and {size} do not broadcast")
            number = size
        elif dim not in symbols:
            symbols.append(dim)
    if number is not None:
        return OptimDim(number)
    if not symbols:
        return ONE
    return symbols[0] if len(symbols) == 1 else _broadcast_symbols(node, symbols)


def broadcast(node: NodeView, *shapes: Dims) -> Dims:
    """NumPy broadcasting of any number of shapes.

    Raises:
        ShapeError: Two integer sizes exclude each other.
    """
    first = shapes[0]
    if all(other is first or other == first for other in shapes[1:]):
        return first
    rank = max(len(shape) for shape in shapes)
    padded = [(ONE,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(
        column[0] if column.count(column[0]) == len(column) else broadcast_dim(node, column)
        for column in zip(*padded, strict=True)
    )


def broadcast_shape(node: NodeView, tensors: Sequence[OptimTensor]) -> OptimShape:
    """Shape of an elementwise result, unknown when one operand's rank is."""
    first = tensors[0].shape
    dims: list[Dims] = []
    for item in tensors:
        if not item.shape.has_rank():
            return OptimShape(None)
        dims.append(item.shape.dims())
    result = broadcast(node, *dims)
    return first if result is dims[0] else OptimShape(result)


def known_ints(values: Sequence[OptimDim | None] | None) -> tuple[int, ...] | None:
    """The integers of a propagated value when all of them are known."""
    if values is None:
        return None
    result = []
    for value in values:
        if value is None or not value.is_int():
            return None
        result.append(value.as_int())
    return tuple(result)


def int_list(value: object) -> tuple[int, ...] | None:
    """An INTS attribute as a tuple, None when it is absent."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return tuple(value)
    return (int(value),)  # type: ignore[call-overload]
