"""Tensors written into a text, as ``tf.strings.format`` and ``tf.print`` write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from yobx.lowering import shapes, text
from yobx.lowering.casts import cast
from yobx.tensorflow.ops._op import BOOL, INTS, STRING, UINTS, attr, dims, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO = np.array([0], np.int64)
#: What C escapes in a string, besides other characters that cannot be printed; the first one first.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = {chr(c): f"\\{c:03o}" for c in (*range(1, 32), 127) if chr(c) not in _ESCAPES}


@register_tf_op_converter("StringFormat", dtypes={"T": (*INTS, *UINTS, *BOOL, *STRING)})
def convert_format(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A template with tensors of static shape in it, of integers, booleans or strings."""
    template = str(attr(op, "template"))
    literals = template.split(str(attr(op, "placeholder")))
    summarize = int(attr(op, "summarize", 3))
    flat: list[Any] = []
    between, places, start = [literals[0]], [], 0
    for i, literal in enumerate(literals[1:]):
        sizes = dims(g, op, i)
        if sizes is None or any(size is None for size in sizes):
            unsupported(
                op,
                "a tensor is written into a text if its shape is known while converting",
                f"input {i} of shape {op.inputs[i].shape}",
            )
        known = [size for size in sizes if size is not None]
        count = math.prod(known)
        written = _layout(known, count if summarize < 0 else min(summarize, count))
        for piece in [*written, literal]:
            if isinstance(piece, int):
                places.append(start + piece)
                between.append("")
            else:
                between[-1] += piece
        start += count
        flat.append(_elements(g, op.inputs[i]))
    # An element that nobody asks for keeps the vector from being empty.
    every = g.op.Concat(*flat, np.array([""], object), axis=0)
    chosen = g.op.Gather(every, np.array([*places, start], np.int64))
    parts = g.op.StringConcat(chosen, np.array([*between[1:], ""], object))
    first = np.array([between[0]], object)
    joined = text.joined_columns(
        g, str(g.op.Unsqueeze(parts, _ZERO)), g.make_initializer(None, first)
    )
    return str(g.op.Squeeze(joined, _ZERO, outputs=outputs[:1], name=op.name))


def _elements(g: GraphBuilder, tensor: Any) -> str:
    """Return the elements of a tensor as texts, strings in quotation marks."""
    flat = shapes.flatten(g, tensor.name)
    if tensor.dtype.name != "string":
        return cast(g, cast(g, flat, np.int64) if tensor.dtype.name == "bool" else flat, "string")
    for old, new in (_ESCAPES | _CONTROLS).items():
        flat = text.replace(g, flat, old, new)
    mark = np.array('"', object)
    return str(g.op.StringConcat(g.op.StringConcat(mark, flat), mark))


def _layout(sizes: list[int], ends: int) -> list[str | int]:
    """Return what is written for a tensor: texts, and positions of elements.

    Args:
        sizes: Its shape.
        ends: How many elements are written at either end of an axis.
    """
    rank = len(sizes)

    def along(axis: int, start: int) -> list[str | int]:
        if axis == rank:
            return [start]
        count, each = sizes[axis], math.prod(sizes[axis + 1 :])
        space = " " if axis == rank - 1 else "\n" * (rank - axis - 1) + " " * (axis + 1)
        found: list[str | int] = ["["]
        for i in range(min(ends, count)):
            found += [*([space] if i else []), *along(axis + 1, start + i * each)]
        if count > 2 * ends:
            found.append(f"{space}...")
        for i in range(max(ends, count - ends), count):
            found += [space, *along(axis + 1, start + i * each)]
        return [*found, "]"]

    return along(0, 0)
