"""Tokens of ragged text, and code points."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.lowering import text
from yobx.lowering.casts import cast, to_int64
from yobx.tensorflow.ops._op import STRING, attr, int_list, out_dtype
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO = np.array([0], np.int64)
_ONE = np.array([1], np.int64)
_LAST = np.array([np.iinfo(np.int64).max], np.int64)
_CODES = 0x110000
_PAGE = 256


@register_tf_op_converter("StringNGrams", dtypes=(*STRING, "int32", "int64"))
def convert_ngrams(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Neighbouring tokens of each row put together, for several numbers of tokens."""
    splits = to_int64(g, op.inputs[1].name)
    starts = g.op.Slice(splits, _ZERO, np.array([-1], np.int64))
    lengths = g.op.Sub(g.op.Slice(splits, _ONE, _LAST), starts)
    longest = g.op.ReduceMax(g.op.Concat(lengths, _ZERO, axis=0), keepdims=0)
    columns = [g.op.Unsqueeze(v, _ONE) for v in (starts, lengths)]
    pads = np.array([str(attr(op, f"{side}_pad", "")) for side in ("left", "right")], object)
    tokens = g.op.Concat(op.inputs[0].name, pads, axis=0)
    first_pad = g.op.Shape(op.inputs[0].name)

    def token(place: str) -> str:
        """Return the tokens at places of the rows, which may lie outside of them."""
        start, length = columns
        inside = g.op.Where(
            g.op.Less(place, length),
            g.op.Add(start, place),
            g.op.Add(first_pad, np.array(1, np.int64)),
        )
        outside = g.op.Less(place, np.array(0, np.int64))
        return str(g.op.Gather(tokens, g.op.Where(outside, first_pad, inside)))

    most = int(attr(op, "pad_width"))
    separator = str(attr(op, "separator", ""))
    parts, there = [], []
    for width in int_list(op, "ngram_widths"):
        pad = width - 1 if most < 0 else min(most, width - 1)
        made, known = _of_width(
            g, token, (columns[1], longest), width, pad=pad, separator=separator
        )
        parts.append(made)
        there.append(known)
    if bool(attr(op, "preserve_short_sequences")) and most >= 0:
        found = g.op.Concat(*there, axis=1) if len(there) > 1 else there[0]
        whole, known = _whole(g, token, (columns[1], longest), most, separator)
        count = g.op.ReduceSum(cast(g, found, np.int64), _ONE, keepdims=1)
        parts.append(whole)
        there.append(g.op.And(known, g.op.Equal(count, np.array(0, np.int64))))
    grams = g.op.Concat(*parts, axis=1) if len(parts) > 1 else parts[0]
    mask = g.op.Concat(*there, axis=1) if len(there) > 1 else there[0]
    # Of no tokens at all there are no texts, not even of padding.
    mask = g.op.And(mask, g.op.Greater(first_pad, _ZERO))
    counts = g.op.ReduceSum(cast(g, mask, np.int64), _ONE, keepdims=0)
    ends = g.op.Concat(_ZERO, g.op.CumSum(counts, np.array(0, np.int64)), axis=0)
    cast(g, ends, out_dtype(op, 1), outputs=outputs[1:2])
    found = g.op.Transpose(g.op.NonZero(mask), perm=[1, 0])
    return str(g.op.GatherND(grams, found, outputs=outputs[:1], name=op.name))


def _range(g: GraphBuilder, count: str) -> str:
    numbers = g.op.Range(np.array(0, np.int64), count, np.array(1, np.int64))
    return str(g.op.Unsqueeze(numbers, _ZERO))


def _of_width(
    g: GraphBuilder,
    token: Callable[[str], str],
    sizes: tuple[str, str],
    width: int,
    *,
    pad: int,
    separator: str,
) -> tuple[str, str]:
    """Return the texts of ``width`` tokens beginning everywhere, and which of them exist."""
    lengths, longest = sizes
    more = np.array(2 * pad - width + 1, np.int64)
    count = g.op.Max(g.op.Add(longest, more), np.array(0, np.int64))
    begin = _range(g, count)
    value = token(g.op.Sub(begin, np.array(pad, np.int64)))
    for step in range(1, width):
        if separator:
            value = g.op.StringConcat(value, np.array(separator, object))
        following = token(g.op.Add(begin, np.array(step - pad, np.int64)))
        value = g.op.StringConcat(value, following)
    return value, str(g.op.Less(begin, g.op.Add(lengths, more)))


def _whole(
    g: GraphBuilder,
    token: Callable[[str], str],
    sizes: tuple[str, str],
    pad: int,
    separator: str,
) -> tuple[str, str]:
    """Return the text of all tokens of each row `(rows, 1)`, and whether there are any."""
    lengths, longest = sizes
    both = np.array(2 * pad, np.int64)
    place = _range(g, g.op.Add(longest, both))
    value = token(g.op.Sub(place, np.array(pad, np.int64)))
    if separator:
        later = g.op.Greater(place, np.array(0, np.int64))
        between = g.op.Where(later, np.array(separator, object), np.array("", object))
        value = g.op.StringConcat(between, value)
    there = g.op.Less(place, g.op.Add(lengths, both))
    joined = text.joined_columns(g, g.op.Where(there, value, np.array("", object)))
    return str(g.op.Unsqueeze(joined, _ONE)), str(g.op.Greater(lengths, np.array(0, np.int64)))


@lru_cache(maxsize=1)
def _scripts() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the page of each block of code points, and the scripts on each page."""
    import tensorflow as tf

    scripts = tf.raw_ops.UnicodeScript(input=np.arange(_CODES, dtype=np.int32)).numpy()
    pages, page = np.unique(scripts.reshape(-1, _PAGE), axis=0, return_inverse=True)
    return page.reshape(-1).astype(np.int64), pages.reshape(-1).astype(np.int32)


@register_tf_op_converter("UnicodeScript", dtypes=("int32",))
def convert_script(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The script of a code point, by TensorFlow's own table; -1 for what is none."""
    page, scripts = _scripts()
    code = to_int64(g, op.inputs[0].name)
    zero, last = np.array(0, np.int64), np.array(_CODES - 1, np.int64)
    valid = g.op.And(g.op.GreaterOrEqual(code, zero), g.op.LessOrEqual(code, last))
    code = g.op.Where(valid, code, zero)
    size = np.array(_PAGE, np.int64)
    start = g.op.Mul(g.op.Gather(page, g.op.Div(code, size)), size)
    script = g.op.Gather(scripts, g.op.Add(start, g.op.Mod(code, size)))
    return str(g.op.Where(valid, script, np.array(-1, np.int32), outputs=outputs[:1]))
