"""Strings, tables, ragged and sparse tensors."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.ops.op_cases import BINDINGS, Arg, Case, check
from yobx.tensorflow.ops import register

register()
EMPTY = (*BINDINGS, {"n": 0, "m": 3, "k": 2})
WORDS = Arg("string", ("n", 3))
FLAT = Arg("string", ("n",), values=("a,b,,c", "x", "", ",", "ab cd  e "))
NUMBER = Arg("int32", (), values=(2,))
ROWS = Arg("int32", ("n",), 0, 6)


def table(keys: list, values: list, key_type: tf.DType, value_type: tf.DType, default: object):
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


@pytest.mark.parametrize("case", [*table_cases(), *STRINGS, *RAGGED], ids=lambda c: c.name)
def test_text(case: Case) -> None:
    check(case)


def test_table_contents_come_from_tensorflow() -> None:
    made = table(["a"], [np.int64(3)], tf.string, tf.int64, 0)
    assert int(made.lookup(tf.constant("a"))) == 3
