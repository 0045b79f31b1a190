"""Lengths and parts of strings, in bytes of UTF-8 or in characters."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.errors import GraphError
from yobx.lowering import shapes, text
from yobx.lowering.casts import cast, to_int64
from yobx.tensorflow.ops._op import STRING, attr, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO, _ONE = np.array([0], np.int64), np.array([1], np.int64)


def _letters(g: GraphBuilder, op: Any, x: str) -> tuple[str, str]:
    """Return the characters of strings, if the domain that cuts them may be used."""
    try:
        g.opset(text.MICROSOFT)
    except GraphError:
        unsupported(
            op,
            "strings are cut by an operator of onnxruntime, in its own domain",
            f"target_opset without {text.MICROSOFT!r}",
            f"Pass target_opset={{'': {g.opset()}, {text.MICROSOFT!r}: 1}}.",
        )
    return text.characters(g, x)


def _sizes(g: GraphBuilder, op: Any, letters: str, there: str) -> str:
    """Return how much of the op's unit each character takes, `(n, w)`."""
    if str(attr(op, "unit", "BYTE")) == "BYTE":
        return text.byte_sizes(g, letters, there)
    return cast(g, there, np.int64)


@register_tf_op_converter("StringLength", dtypes=(*STRING, "int32"))
def convert_length(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Number of bytes or characters of each string."""
    x = op.inputs[0].name
    sizes = _sizes(g, op, *_letters(g, op, shapes.flatten(g, x)))
    total = cast(g, g.op.ReduceSum(sizes, _ONE, keepdims=0), np.int32)
    return str(g.op.Reshape(total, g.op.Shape(x), allowzero=1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Substr", dtypes=(*STRING, "int32", "int64"))
def convert_substr(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A part of each string, from a position on that may be counted from the end."""
    x, start, length = op.inputs[0].name, *(to_int64(g, i.name) for i in op.inputs[1:])
    shape = g.op.Shape(g.op.Add(g.op.Add(start, length), _zeros_like(g, x)))
    flat, start, length = (
        shapes.flatten(g, g.op.Expand(value, shape)) for value in (x, start, length)
    )
    letters, there = _letters(g, op, flat)
    sizes = _sizes(g, op, letters, there)
    ends = g.op.CumSum(sizes, np.array(1, np.int64))
    begins = g.op.Sub(ends, sizes)
    total = g.op.ReduceSum(sizes, _ONE, keepdims=0)
    first = g.op.Where(g.op.Less(start, _ZERO), g.op.Add(start, total), start)
    if str(attr(op, "unit", "BYTE")) == "BYTE":
        # Fewer than none are all there are, but not of characters.
        length = g.op.Where(g.op.Less(length, _ZERO), total, length)
    last = g.op.Min(g.op.Add(first, g.op.Min(length, total)), total)
    low, high = (g.op.Unsqueeze(value, _ONE) for value in (first, last))
    touched = g.op.And(g.op.Less(begins, high), g.op.Greater(ends, low))
    whole = g.op.And(g.op.GreaterOrEqual(begins, low), g.op.LessOrEqual(ends, high))
    # A piece of a character is no text, and a position outside is an error of TensorFlow.
    outside = g.op.Or(g.op.Less(first, _ZERO), g.op.Greater(first, total))
    cut = g.op.And(g.op.And(touched, there), g.op.Not(whole))
    wrong = g.op.Concat(cast(g, outside, np.int64), _flags(g, cut), _ZERO, axis=0)
    index = g.op.ReduceMax(wrong, keepdims=0)
    empty = np.array([""], object)
    filler = g.op.Gather(empty, index, axis=0, name="position_or_byte_outside_of_text")
    kept = g.op.Where(g.op.And(g.op.And(touched, there), whole), letters, filler)
    joined = text.joined_columns(g, kept)
    return str(g.op.Reshape(joined, shape, allowzero=1, outputs=outputs[:1], name=op.name))


def _zeros_like(g: GraphBuilder, x: str) -> str:
    return str(g.op.Expand(np.array(0, np.int64), g.op.Shape(x)))


def _flags(g: GraphBuilder, where: str) -> str:
    return shapes.flatten(g, cast(g, where, np.int64))
