"""Tables that a graph makes itself, with the operation that fills them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case

KEYS: dict[str, tuple[Any, ...]] = {"string": ("a", "bc", "déjà"), "int64": (3, -1, 4)}
VALUES: dict[str, tuple[Any, ...]] = {
    "string": ("one", "", "two"),
    "int64": (2**40, -7, 0),
    "float32": (0.5, -2.0, 7.0),
}


def _found(op_type: str, keys: Any, values: Any, asked: Any) -> Any:
    table = getattr(tf.raw_ops, op_type)(
        key_dtype=keys.dtype, value_dtype=values.dtype, shared_name=f"{op_type}-{keys.dtype.name}"
    )
    tf.raw_ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)
    missing = tf.zeros((), values.dtype) if values.dtype != tf.string else tf.constant("?")
    return tf.raw_ops.LookupTableFindV2(table_handle=table, keys=asked, default_value=missing)


def _case(op_type: str, key: str, value: str) -> Case:
    keys, values = tf.constant(KEYS[key], key), tf.constant(VALUES[value], value)
    asked = Arg(key, ("n", 2), values=(*KEYS[key], "?" if key == "string" else 9))

    def run(x: Any) -> Any:
        return _found(op_type, keys, values, x)

    def static(x: Any) -> Any:
        """What it comes to, in a table of its own."""
        table = tf.raw_ops.AnonymousHashTable(key_dtype=key, value_dtype=value)
        tf.raw_ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)
        missing = tf.zeros((), value) if value != "string" else tf.constant("?")
        return tf.raw_ops.LookupTableFindV2(table_handle=table, keys=x, default_value=missing)

    name = f"{op_type}-{key}-{value}"
    return Case(name, run, (asked,), bindings=EMPTY, op_type=op_type, eager=static)


def cases() -> list[Case]:
    """Every case of this module."""
    pairs = (("string", "int64"), ("string", "string"), ("int64", "string"), ("int64", "float32"))
    return [_case(kind, *pair) for kind in ("HashTableV2", "MutableHashTableV2") for pair in pairs]
