"""What is known of lists besides their value: whether elements have their shape, and one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.lowering.lists import Shaped
from yobx.tensorflow.conversion import current_conversion
from yobx.tensorflow.ops._op import unsupported
from yobx.xbuilder import GraphBuilder

__all__ = ["check_even", "is_list", "mark", "merge_shaped", "shaped_of", "write_mark"]


def is_list(tensor: Any) -> bool:
    """Tell whether a tensor of TensorFlow may be a list."""
    return bool(tensor.dtype.name == "variant")


def shaped_of(g: GraphBuilder, items: str) -> Shaped:
    """Return whether the elements of a list have their shape."""
    if not g.has_name(items):
        return True
    return current_conversion().shaped.get(g.alias(items, items), True)


def mark(g: GraphBuilder, items: str, shaped: Shaped) -> str:
    """Record whether the elements of a list have their shape; return the list."""
    known, value = current_conversion().shaped, g.alias(items, items)
    if known.get(value, True) != shaped:
        if value in known or shaped is True:
            # The same value is another list already.
            value = str(g.op.Identity(value))
        known[value] = shaped
    return value


def check_even(g: GraphBuilder, op: Any, *values: str) -> None:
    """Refuse lists whose elements cannot be one tensor.

    Raises:
        UnsupportedAttributeError: If one of ``values`` is such a list.
    """
    uneven = current_conversion().uneven
    for value in values:
        shapes = uneven.get(g.alias(value, value)) if g.has_name(value) else None
        if shapes is not None:
            unsupported(
                op,
                "the elements of a list have one shape in ONNX, unless they are only joined, or "
                "read at places that are known",
                f"elements of shapes {shapes}",
                "Fill them up to one shape, or keep them apart from each other.",
            )


def write_mark(g: GraphBuilder, op: Any, items: str, item: str, shaped: Shaped) -> str | None:
    """Note the shape of an element that is about to be written.

    Returns:
        The list that stands for elements of different shapes, if it is known now that they
        differ; else ``None``.
    """
    conversion = current_conversion()
    value = g.alias(items, items)
    own, new = g.get_shape(value), g.get_shape(item)
    if isinstance(shaped, str):
        conversion.written.setdefault(shaped, []).append(new.dims() if new.has_rank() else None)
    before = conversion.uneven.get(value)
    if before is None:
        if shaped is not True or not own.has_rank() or not new.has_rank():
            return None
        old, dims = own.dims()[1:], new.dims()
        if len(old) == len(dims) and not any(
            a.is_int() and b.is_int() and a.as_int() != b.as_int()
            for a, b in zip(old, dims, strict=True)
        ):
            return None
        before = _shape_text(old)
    made = str(g.op.Identity(value))
    text = _shape_text(new.dims()) if new.has_rank() else "of unknown rank"
    conversion.uneven[made] = f"{before} and {text}"
    return made


def _shape_text(dims: Sequence[Any]) -> str:
    return f"({', '.join(str(dim) for dim in dims)})"


def merge_shaped(
    g: GraphBuilder, branches: Sequence[tuple[GraphBuilder, dict[int, Shaped]]], prefix: str
) -> dict[int, Shaped]:
    """Make what branches know of lists one statement; give them outputs where they differ.

    Args:
        g: Builder of the graph around the branches.
        branches: Each branch, with what it knows of the lists among its results.
        prefix: Of the names of outputs that say it.

    Returns:
        Position of a result -> a truth, or the name of the output of the conditional.
    """
    merged: dict[int, Shaped] = {}
    for i in branches[0][1]:
        states = [known[i] for _, known in branches]
        if all(state is states[0] and isinstance(state, bool) for state in states):
            merged[i] = states[0]
            continue
        for sub, known in branches:
            state = known[i]
            value = np.array(state) if isinstance(state, bool) else state
            sub.make_tensor_output(f"{prefix}/shaped_{i}", source=sub.op.Identity(value))
        merged[i] = g.unique_name(f"{prefix}/shaped_{i}")
    return merged
