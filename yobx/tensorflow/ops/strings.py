"""Strings, as far as ONNX has operators for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.tensorflow.ops._op import (
    BOOL,
    INTS,
    STRING,
    UINTS,
    attr,
    dims,
    out_dtype,
    rank,
    require_constant,
    unsupported,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO = np.array([0], np.int64)
_ONE = np.array([1], np.int64)


@register_tf_op_converter(("StringLower", "StringUpper"), dtypes=STRING)
def convert_case(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Letters changed to lower or upper case; without an encoding, ASCII letters only."""
    x = op.inputs[0].name
    # The operator gives one empty string for no strings, so one is added and taken away again.
    flat = g.op.Concat(shapes.flatten(g, x), np.array([""], object), axis=0)
    changed = g.op.StringNormalizer(
        flat,
        case_change_action="LOWER" if op.type == "StringLower" else "UPPER",
        is_case_sensitive=1,
        locale="C.UTF-8" if str(attr(op, "encoding", "")) else "C",
        name=op.name,
    )
    kept = g.op.Slice(changed, _ZERO, np.array([-1], np.int64), _ZERO)
    return str(g.op.Reshape(kept, g.op.Shape(x), allowzero=1, outputs=outputs[:1]))


@register_tf_op_converter("StringJoin", dtypes=STRING)
def convert_join(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Strings put together element by element, with a separator between them."""
    separator = str(attr(op, "separator", ""))
    value = op.inputs[0].name
    for tensor in op.inputs[1:]:
        if separator:
            value = g.op.StringConcat(value, np.array(separator, object))
        value = g.op.StringConcat(value, tensor.name)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("ReduceJoin", dtypes=(*STRING, "int32"))
def convert_reduce_join(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Strings along axes of static size put together, the first axis given outermost."""
    n, x = rank(g, op, 0), op.inputs[0].name
    separator = str(attr(op, "separator", ""))
    axes = [int(a) % n for a in np.ravel(require_constant(g, op, 1, "reduction_indices"))]
    known = dims(g, op, 0) or ()
    for axis in reversed(axes):
        size = known[axis]
        if not size:
            unsupported(op, "a joined axis needs a static size above zero", f"size={size}")
        parts = [
            g.op.Slice(x, np.array([i]), np.array([i + 1]), np.array([axis])) for i in range(size)
        ]
        x = parts[0]
        for part in parts[1:]:
            if separator:
                x = g.op.StringConcat(x, np.array(separator, object))
            x = g.op.StringConcat(x, part)
    if not bool(attr(op, "keep_dims")) and axes:
        x = g.op.Squeeze(x, np.array(sorted(axes), np.int64))
    return str(g.op.Identity(x, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("StaticRegexFullMatch", "RegexFullMatch"), dtypes=(*STRING, *BOOL))
def convert_full_match(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Whether a pattern, known while converting, matches the whole string (both use RE2)."""
    if op.type == "RegexFullMatch":
        pattern = str(np.ravel(require_constant(g, op, 1, "pattern"))[0])
    else:
        pattern = str(attr(op, "pattern"))
    x = op.inputs[0].name
    return str(g.op.RegexFullMatch(x, pattern=pattern, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("StringSplitV2", dtypes=(*STRING, "int64"))
def convert_split(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Pieces between separators, as a sparse matrix: indices, values, shape."""
    separator = str(np.ravel(require_constant(g, op, 1, "sep"))[0])
    most = int(attr(op, "maxsplit", -1))
    keywords: dict[str, Any] = {"delimiter": separator} if separator else {}
    if most >= 0:
        keywords["maxsplit"] = most
    x = op.inputs[0].name
    pieces, counts = g.op.StringSplit(x, outputs=2, name=op.name, **keywords)
    rows = g.op.Shape(x)
    if separator:  # An empty string is one empty piece; ONNX says it has none.
        column = g.op.Expand(np.array("", object), g.op.Concat(rows, _ONE, axis=0))
        pieces = g.op.Concat(pieces, column, axis=1)
        counts = g.op.Max(counts, np.array(1, np.int64))
    width = g.op.ReduceMax(g.op.Concat(counts, _ZERO, axis=0), keepdims=1)
    column = g.op.Range(np.array(0, np.int64), shapes.scalar(g, width), np.array(1, np.int64))
    there = g.op.Less(g.op.Unsqueeze(column, _ZERO), g.op.Unsqueeze(counts, _ONE))
    indices = g.op.Transpose(g.op.NonZero(there), perm=[1, 0], outputs=outputs[:1])
    g.op.GatherND(pieces, indices, outputs=outputs[1:2])
    return str(g.op.Concat(rows, width, axis=0, outputs=outputs[2:3]))


@register_tf_op_converter(
    "StringToNumber", dtypes=(*STRING, "float32", "float64", "int32", "int64")
)
def convert_to_number(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The number that a string spells."""
    return cast(g, op.inputs[0].name, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter("AsString", dtypes=(*STRING, *INTS, *UINTS, *BOOL))
def convert_as_string(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Integers and booleans as text."""
    x = op.inputs[0].name
    if int(attr(op, "width", -1)) > 0 or str(attr(op, "fill", "")):
        unsupported(op, "text cannot be filled up to a width", f"width={attr(op, 'width')}")
    if op.inputs[0].dtype.name == "bool":
        words = np.array("true", object), np.array("false", object)
        return str(g.op.Where(x, *words, outputs=outputs[:1], name=op.name))
    return cast(g, x, "string", outputs=outputs[:1])
