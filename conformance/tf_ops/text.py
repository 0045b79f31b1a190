"""Strings, tables, ragged and sparse tensors."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case

WORDS = Arg("string", ("n", 3))
FLAT = Arg("string", ("n",), values=("a,b,,c", "x", "", ",", "ab cd  e "))
NUMBER = Arg("int32", (), values=(2,))
ROWS = Arg("int32", ("n",), 0, 6)


def table(keys: Any, values: Any, key_type: Any, value_type: Any, default: Any) -> Any:
    """Return a hash table."""
    initial = tf.lookup.KeyValueTensorInitializer(keys, values, key_type, value_type)
    return tf.lookup.StaticHashTable(initial, default)


TABLES = [
    ("string-int64", ["a", "bc", ""], [5, -1, 7], tf.string, tf.int64, 9),
    ("string-string", ["a", "bc"], ["x", "déjà"], tf.string, tf.string, "?"),
    ("string-float32", ["a", "bc"], [0.5, 1.5], tf.string, tf.float32, -1.0),
    ("int64-int64", [0, 1, 2], [5, -1, 7], tf.int64, tf.int64, 9),
    ("int64-string", [0, 1, 2], ["a", "b", "c"], tf.int64, tf.string, "none"),
    ("int64-float32", [0, 1, 2], [0.1, 0.2, 0.3], tf.int64, tf.float32, 9.5),
    ("int32-int32", [0, 1, 2], [5, -1, 7], tf.int32, tf.int32, 9),
    ("int64-float64", [0, 1, 2], [0.1, 0.2, 0.3], tf.int64, tf.float64, 9.1),
    ("string-int32", ["a", "bc", ""], [5, -1, 7], tf.string, tf.int32, 9),
    ("string-float64", ["a", "bc"], [0.1, 0.2], tf.string, tf.float64, -1.1),
    ("int64-int32", [0, 1, 2], [5, -1, 7], tf.int64, tf.int32, 9),
    ("int32-string", [0, 1, 2], ["a", "b", "c"], tf.int32, tf.string, "none"),
    ("string-bool", ["a", "bc"], [True, False], tf.string, tf.bool, True),
]


def table_cases() -> list[Case]:
    """Return lookups and sizes of tables, by dtypes of key and value."""
    cases = []
    for name, keys, values, key_type, value_type, default in TABLES:
        try:
            made = table(keys, values, key_type, value_type, default)
        except (tf.errors.OpError, TypeError):
            continue
        arg = Arg(key_type.name, ("n", 3), 0, 5)
        cases.append(Case(f"table-{name}", made.lookup, (arg,), bindings=EMPTY))
        cases.append(Case(f"table-size-{name}", lambda x, t=made: (t.size(), tf.shape(x)), (arg,)))
    return cases


STRINGS = [
    Case("lower", tf.strings.lower, (WORDS,), bindings=EMPTY),
    Case("upper", tf.strings.upper, (WORDS,), bindings=EMPTY),
    Case("lower_utf8", lambda x: tf.strings.lower(tf.strings.join([x, "ÀÉ"]), "utf-8"), (WORDS,)),
    Case("join", lambda x: tf.strings.join([x, "-", x[:, ::-1]], "_"), (WORDS,), bindings=EMPTY),
    Case("plus", lambda x: x + "!", (WORDS,)),
    Case("reduce_join", lambda x: tf.strings.reduce_join(x, 1, separator=","), (WORDS,)),
    Case("match", lambda x: tf.strings.regex_full_match(x, "[a-z]+"), (WORDS,), bindings=EMPTY),
    Case("split", lambda x: tf.raw_ops.StringSplitV2(input=x, sep=","), (FLAT,)),
    Case("split_space", lambda x: tf.raw_ops.StringSplitV2(input=x, sep=""), (FLAT,)),
    Case("to_number", tf.strings.to_number,
         (Arg("string", ("n",), values=("1.5", "-2", "1e3", "0")),)),
    Case("to_int", lambda x: tf.strings.to_number(x, tf.int64),
         (Arg("string", ("n",), values=("15", "-2", "0")),)),
    Case("as_string", tf.strings.as_string, (Arg("int64", ("n", 2)),)),
    Case("as_string_uint8", tf.strings.as_string, (Arg("uint8", ("n", 2)),)),
    Case("as_string_bool", tf.strings.as_string, (Arg("bool", ("n", 2)),)),
    Case("equal", lambda x: (x == "a") | (x != "bc"), (WORDS,)),
]  # fmt: skip
TEXTS = Arg("string", ("n", 2), values=("a.b,,c. d", "", " .x\t ..", "\n\v é.é  z", "ab,aab", ","))
PUNCTUATION = r"""[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']"""
PATTERNS = [
    (",", ""), (r"\.", "-"), (",", ", "), ("ab", "b"), ("a", r"\0\0"), (r"\.", r"\\"),
    ("[.,]", ""), ("[.,]", ",."), (r"\s+", " "), (r"\s+", ""), (r"[ .,]+", "<>"), ("é", "e"),
    ("a|,|b", "."), (r"\.+", "."), ("[a-c]", "é"), ("[[:punct:]]", " "), (PUNCTUATION, ""),
    (" ", "_"), ("[.]", "dot"), (r"[\-\]a^]", "+"), ("\n", "\\\\n"),
]  # fmt: skip
REPLACEMENTS = [
    *(
        Case(
            f"replace-{pattern}-{rewrite}",
            lambda x, p=pattern, r=rewrite: tf.raw_ops.StaticRegexReplace(
                input=x, pattern=p, rewrite=r
            ),
            (TEXTS,),
            bindings=EMPTY,
        )
        for pattern, rewrite in PATTERNS
    ),
    *(
        Case(
            f"replace-once-{pattern}",
            lambda x, p=pattern: tf.strings.regex_replace(x, p, "#", replace_global=False),
            (TEXTS,),
            bindings=EMPTY,
        )
        for pattern in (",", "ab", r"\.")
    ),
    Case("replace-given", lambda x: tf.raw_ops.RegexReplace(input=x, pattern=tf.constant("a"),
         rewrite=tf.constant("bb")), (TEXTS,), bindings=EMPTY),
    Case("strip", tf.strings.strip, (Arg("string", ("n", 2), values=(" a b ", "", "\n \t x\v\f\r",
         "  ", "\u00a0y", "z")),), bindings=EMPTY),
]  # fmt: skip
PIECES = [
    *(
        Case(
            f"split-{sep}-{most}",
            lambda x, s=sep, m=most: tf.raw_ops.StringSplitV2(input=x, sep=s, maxsplit=m),
            (FLAT,),
            bindings=EMPTY,
        )
        for sep in (",", "ab", "  ")
        for most in (-1, 0, 1, 2)
    ),
    Case("split-whitespace", lambda x: tf.raw_ops.StringSplitV2(input=x, sep=""),
         (Arg("string", ("n",), values=(" a  b\tc\n", "x\vy\fz\rz", "é ", "", "\n")),),
         bindings=EMPTY),
    *(
        Case(
            f"split-any-{delimiter}-{skip}",
            lambda x, d=delimiter, s=skip: tf.raw_ops.StringSplit(
                input=x, delimiter=d, skip_empty=s
            ),
            (FLAT,),
            bindings=EMPTY,
        )
        for delimiter in (",", ", ", "ab")
        for skip in (True, False)
    ),
]  # fmt: skip


def ngrams(widths: list[int], pad_width: int, *, preserve: bool, kind: Any = tf.int64) -> Any:
    """Return a function that joins words to n-grams."""

    def function(x: Any, counts: Any) -> Any:
        counts = tf.concat([counts, [tf.shape(x)[0]]], 0)
        splits = tf.concat([[0], tf.minimum(tf.cumsum(counts), tf.shape(x)[0])], 0)
        return tf.raw_ops.StringNGrams(
            data=x,
            data_splits=tf.cast(splits, kind),
            separator="_" if preserve else "",
            ngram_widths=widths,
            left_pad="<",
            right_pad=">",
            pad_width=pad_width,
            preserve_short_sequences=preserve,
        )

    return function


GRAMS = [
    Case(
        f"ngrams-{widths}-{pad}-{preserve}-{kind.name}",
        ngrams(widths, pad, preserve=preserve, kind=kind),
        (Arg("string", ("n",)), Arg("int32", ("m",), 0, 3)),
        bindings=({"n": 9, "m": 4}, {"n": 0, "m": 2}, {"n": 2, "m": 1}),
    )
    for widths in ([2], [1, 2], [3], [4, 2])
    for pad in (-1, 0, 1, 5)
    for preserve in (False, True)
    for kind in ((tf.int64, tf.int32) if pad == 1 and len(widths) == 2 else (tf.int64,))
]
SCRIPTS = [
    Case("scripts", lambda x: tf.raw_ops.UnicodeScript(input=x), (Arg("int32", ("n",), values=(
         0, 65, 0x3B1, 0x10FFFF, 0x110000, -1, 0x4E00, 0x1F600, 55296)),), bindings=EMPTY),
]  # fmt: skip
RAGGED = [
    Case("range", lambda r: tf.ragged.range(r, r * 2 + 1, 2).flat_values, (ROWS,), bindings=EMPTY),
    Case("range_splits", lambda r: tf.ragged.range(r).row_splits, (ROWS,)),
    Case("range_float", lambda r: tf.raw_ops.RaggedRange(starts=tf.cast(r, tf.float32), limits=7.5,
         deltas=0.5), (ROWS,)),
    Case("sparse_to_dense", lambda v: tf.raw_ops.SparseToDense(sparse_indices=[[0, 1], [2, 0]],
         output_shape=[3, 2], sparse_values=v, default_value=v[0]), (Arg("float32", (2,)),)),
    Case("sparse_matmul", lambda v, d: tf.sparse.sparse_dense_matmul(
         tf.SparseTensor([[0, 1], [2, 0]], v, [3, 2]), d),
         (Arg("float32", (2,)), Arg("float32", (2, "n"))), contraction=8),
    Case("sparse_reorder", lambda v: tf.sparse.reorder(tf.SparseTensor([[2, 0], [0, 1], [0, 0]], v,
         [3, 2])).values, (Arg("float32", (3,)),)),
    Case("sparse_reshape", lambda v: tf.sparse.reshape(tf.SparseTensor([[0, 1], [2, 0]], v,
         [3, 2]), [2, -1]).indices, (Arg("float32", (2,)),)),
    Case("sparse_sum", lambda v: tf.sparse.reduce_sum(tf.SparseTensor([[0, 1], [2, 0]], v, [3, 2]),
         1), (Arg("float32", (2,)),)),
]  # fmt: skip


FORMATS = [
    *(
        Case(
            f"format-{kind}-{summarize}",
            lambda x, summarize=summarize: tf.strings.format(
                "a {} b {}", [x, x[0]], "{}", summarize
            ),
            (Arg(kind, (2, 7)),),
            op_type="StringFormat",
        )
        for kind in (
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("bool", "string"),
        )
        for summarize in (3, -1)
    ),
    Case(
        "format-placeholder",
        lambda x: tf.strings.format("{}: %% or %%", [x, x[0]], "%%", 1),
        (Arg("int32", (4, 3)),),
        op_type="StringFormat",
    ),
]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*table_cases(), *STRINGS, *REPLACEMENTS, *PIECES, *GRAMS, *SCRIPTS, *FORMATS, *RAGGED]
