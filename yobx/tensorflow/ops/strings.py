"""Strings, as far as ONNX has operators for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes, text
from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
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
from yobx.tensorflow.ops._regex import expand_rewrite, parse
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
    """Strings along axes of static size put together, along one axis after the other."""
    n, x = rank(g, op, 0), op.inputs[0].name
    separator = str(attr(op, "separator", ""))
    axes = [int(a) % n for a in np.ravel(require_constant(g, op, 1, "reduction_indices"))]
    known = dims(g, op, 0) or ()
    for axis in axes:
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
    x = op.inputs[0].name
    if separator:
        pieces, counts = text.split(g, x, separator, most)
        return _sparse(g, outputs, op, pieces, _first(g, pieces, counts))
    if most >= 0:
        unsupported(op, "splitting at whitespace goes on to the end", f"maxsplit={most}")
    pieces, counts = text.split(g, text.unify(g, x, text.WHITESPACE), " ")
    return _sparse(g, outputs, op, pieces, _filled(g, pieces))


@register_tf_op_converter("StringSplit", dtypes=(*STRING, "int64"))
def convert_split_any(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Pieces between separators of one character each, as a sparse matrix."""
    separators = "".join(dict.fromkeys(str(np.ravel(require_constant(g, op, 1, "delimiter"))[0])))
    if not separators or not separators.isascii():
        unsupported(
            op,
            "ONNX splits at separators only, not into bytes",
            f"delimiter={separators!r}",
        )
    pieces, counts = text.split(g, text.unify(g, op.inputs[0].name, separators), separators[0])
    if bool(attr(op, "skip_empty", True)):
        return _sparse(g, outputs, op, pieces, _filled(g, pieces))
    # Of an empty string there is no piece at all.
    some = g.op.Not(g.op.Equal(op.inputs[0].name, np.array("", object)))
    there = g.op.And(_first(g, pieces, counts), g.op.Unsqueeze(some, _ONE))
    return _sparse(g, outputs, op, pieces, there)


def _first(g: GraphBuilder, pieces: str, counts: str) -> str:
    """Tell the first pieces of each row, `(n, w)`."""
    width = shapes.scalar(g, g.op.Shape(pieces, start=1, end=2))
    column = g.op.Range(np.array(0, np.int64), width, np.array(1, np.int64))
    return str(g.op.Less(g.op.Unsqueeze(column, _ZERO), g.op.Unsqueeze(counts, _ONE)))


def _filled(g: GraphBuilder, pieces: str) -> str:
    return str(g.op.Not(g.op.Equal(pieces, np.array("", object))))


def _sparse(g: GraphBuilder, outputs: list[str], op: Any, pieces: str, there: str) -> str:
    """Emit the pieces that are there, moved together in each row, as a sparse matrix."""
    found = g.op.Transpose(g.op.NonZero(there), perm=[1, 0])
    number = cast(g, there, np.int64)
    place = g.op.CumSum(number, np.array(1, np.int64), exclusive=1)
    column = g.op.Unsqueeze(g.op.GatherND(place, found), _ONE)
    row = g.op.Slice(found, _ZERO, _ONE, _ONE)
    g.op.Concat(row, column, axis=1, outputs=outputs[:1], name=op.name)
    g.op.GatherND(pieces, found, outputs=outputs[1:2])
    counts = g.op.ReduceSum(number, _ONE, keepdims=0)
    width = g.op.ReduceMax(g.op.Concat(counts, _ZERO, axis=0), keepdims=1)
    rows = g.op.Shape(pieces, start=0, end=1)
    return str(g.op.Concat(rows, width, axis=0, outputs=outputs[2:3]))


@register_tf_op_converter(("StaticRegexReplace", "RegexReplace"), dtypes=STRING)
def convert_replace(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Matches of a pattern replaced, where it means a text or one character of a set."""
    if op.type == "RegexReplace":
        pattern, rewrite = (
            str(np.ravel(require_constant(g, op, i, what))[0])
            for i, what in ((1, "pattern"), (2, "rewrite"))
        )
    else:
        pattern, rewrite = str(attr(op, "pattern")), str(attr(op, "rewrite"))
    once = not bool(attr(op, "replace_global", True))
    simple = parse(pattern)
    new = (
        None if simple is None else expand_rewrite(rewrite, None if simple.is_set else simple.text)
    )
    if simple is None or new is None or (once and simple.is_set):
        unsupported(
            op,
            "ONNX replaces a text, or all characters of a set such as [.,;] or \\s+, by a text",
            f"pattern={pattern!r}, rewrite={rewrite!r}, replace_global={not once}",
            "onnxruntime-extensions has the operator StringRegexReplace (domain ai.onnx.contrib): "
            f"emit it from extra_converters={{{op.type!r}: convert}}.",
        )
    x = shapes.flatten(g, op.inputs[0].name)
    if not simple.is_set:
        x = text.replace(g, x, simple.text, new, once=once)
    elif simple.repeated and new:
        x = text.replace_runs(g, text.unify(g, x, simple.text), simple.text[0], new)
    elif new:
        x = text.replace(g, text.unify(g, x, simple.text), simple.text[0], new)
    else:
        for character in simple.text:
            x = text.replace(g, x, character, "")
    shape = g.op.Shape(op.inputs[0].name)
    return str(g.op.Reshape(x, shape, allowzero=1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("StringStrip", dtypes=STRING)
def convert_strip(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Whitespace at both ends taken away."""
    x = op.inputs[0].name
    stripped = text.strip(g, shapes.flatten(g, x))
    return str(
        g.op.Reshape(stripped, g.op.Shape(x), allowzero=1, outputs=outputs[:1], name=op.name)
    )


@register_tf_op_converter(
    "StringToNumber", dtypes=(*STRING, "float32", "float64", "int32", "int64")
)
def convert_to_number(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The number that a string spells."""
    return cast(g, op.inputs[0].name, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter("AsString", dtypes=(*STRING, *INTS, *UINTS, *BOOL))
def convert_as_string(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Integers and booleans as text; ``fill`` is a flag of C's ``printf``, for integers."""
    x, dtype = op.inputs[0].name, op.inputs[0].dtype
    if dtype.name == "bool":
        words = np.array("true", object), np.array("false", object)
        return str(g.op.Where(x, *words, outputs=outputs[:1], name=op.name))
    fill, width = str(attr(op, "fill", "")), int(attr(op, "width", -1))
    if fill not in ("", " ", "+", "-", "0"):
        unsupported(op, "fill must be one of '', ' ', '+', '-' and '0'", f"fill={fill!r}")
    if width <= 0 and fill not in (" ", "+"):
        return cast(g, x, "string", outputs=outputs[:1])
    wide = cast(g, x, np.uint64 if dtype.name == "uint64" else np.int64)
    negative = None if dtype.is_unsigned else g.op.Less(wide, np.array(0, np.int64))
    size = wide if negative is None else g.op.Where(negative, g.op.Neg(wide), wide)
    # The least integer is its own negative: its bits are the right unsigned number.
    digits = cast(g, cast(g, size, np.uint64), "string")
    plus = np.array(fill if fill in (" ", "+") and not dtype.is_unsigned else "", object)
    sign: Any = plus if negative is None else g.op.Where(negative, np.array("-", object), plus)
    if width <= 0:
        return str(g.op.StringConcat(sign, digits, outputs=outputs[:1], name=op.name))
    used = _digit_count(g, cast(g, size, np.uint64))
    signs = np.array([len(str(plus)), 1], np.int64)
    mark = signs[:1] if negative is None else g.op.Gather(signs, cast(g, negative, np.int64))
    free = g.op.Sub(np.array(width, np.int64), g.op.Add(used, mark))
    fills = np.array([("0" if fill == "0" else " ") * k for k in range(width)], object)
    gap = g.op.Gather(fills, g.op.Max(free, np.array(0, np.int64)))
    parts = {"0": (sign, gap, digits), "-": (sign, digits, gap)}.get(fill, (gap, sign, digits))
    joined = g.op.StringConcat(parts[0], parts[1])
    return str(g.op.StringConcat(joined, parts[2], outputs=outputs[:1], name=op.name))


def _digit_count(g: GraphBuilder, x: str) -> str:
    """Return how many decimal digits unsigned integers have."""
    powers = np.array([10**k for k in range(1, 20)], np.uint64)
    column = g.op.Unsqueeze(x, np.array([-1], np.int64))
    reached = cast(g, g.op.Not(legal(g).Less(column, powers)), np.int64)
    count = g.op.ReduceSum(reached, np.array([-1], np.int64), keepdims=0)
    return str(g.op.Add(count, np.array(1, np.int64)))
