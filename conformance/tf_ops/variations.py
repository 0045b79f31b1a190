"""From one row a case for every other value of its enumerations and flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from conformance.tf_ops.attributes import Value, choices, label_of
from conformance.tf_ops.cases import Arg, Case, works_in_tf
from conformance.tf_ops.contents import traces
from conformance.tf_ops.declared import required
from conformance.tf_ops.rows import Row

__all__ = ["NOT_RUN", "cases_of", "compiled", "crossed"]

#: Op type -> values that TensorFlow refuses with the row they were tried on, as found when the
#: cases were made.
NOT_RUN: defaultdict[str, set[Value]] = defaultdict(set)
_FIRST = {"NCHW", "NCDHW", "CHANNELS_FIRST"}
_PER_AXIS = ("strides", "dilations", "ksize", "ksizes", "rates")
#: Inputs that have no channels, or have them elsewhere.
_FILTERS = {"filter", "bias", "scale", "offset", "mean", "variance"}


def cases_of(rows: Iterable[Row]) -> list[Case]:
    """Return all cases of some rows; the first of each op type goes through all values.

    Args:
        rows: The rows.
    """
    found: list[Case] = []
    seen: set[str] = set()
    for row in rows:
        found += row.cases()
        every = None if row.op_type not in seen else ()
        found += varied(row, every if row.vary is None else row.vary)
        if row.vary is None:
            seen.add(row.op_type)
    return found


def varied(row: Row, names: Sequence[str] | None) -> Iterator[Case]:
    """Yield a case for every value that the row does not have.

    Args:
        row: The row.
        names: Attributes to go through; ``None`` for all.
    """
    for name, value in _others(row):
        if names is not None and name not in names:
            continue
        case = _with(row, name, value).case(f"-{name}-{value}")
        refused = row.refuses.get(f"{name}={value}", "")
        if refused:
            yield replace(case, refused=refused, dynamic=False)
        elif works_in_tf(case) and traces(case):
            yield case
        elif works_in_tf(other := compiled(case)):
            yield other
        else:
            NOT_RUN[row.op_type].add((name, str(value)))


def crossed(row: Row) -> Iterator[Case]:
    """Yield a case for every other dtype together with every value that the row does not have.

    Args:
        row: The row.
    """
    for attribute, dtype in sorted(required(row.op_type)):
        for name, value in _others(row):
            if f"{name}={value}" in row.refuses:
                continue
            suffix = f"-{attribute}-{dtype}-{name}-{value}"
            tried = _with(row, name, value).cases_for(attribute, dtype, suffix)
            found = next((c for c in tried if works_in_tf(c) and traces(c)), None)
            if found is not None:
                yield replace(found, dynamic=False)


def _others(row: Row) -> Iterator[tuple[str, Any]]:
    for name, values in choices(row.op_type).items():
        own = row.attrs.get(name, _default(row.op_type, name))
        yield from ((name, value) for value in values if value != own)


def compiled(case: Case) -> Case:
    """Return a case compared with what XLA makes of it: it has layouts that plain kernels lack."""
    return replace(case, eager=tf.function(case.function, jit_compile=True))


def _default(op_type: str, name: str) -> Any:
    for attribute in op_def_registry.get(op_type).attr:
        if attribute.name == name and attribute.HasField("default_value"):
            kind = attribute.default_value.WhichOneof("value")
            label = label_of(attribute.default_value)
            return label == "True" if kind == "b" else label
    return None


def _with(row: Row, name: str, value: Any) -> Row:
    """Return the row with another value; channels move with their name."""
    attrs = {**row.attrs, name: value}
    if name == "padding" and value == "EXPLICIT":
        attrs["explicit_paddings"] = [0, 0, 1, 0, 2, 1, 0, 0]
    if name != "data_format" or value not in _FIRST:
        return replace(row, attrs=attrs)
    rank = next(len(v.shape) for v in row.inputs.values() if isinstance(v, Arg))
    order = (0, rank - 1, *range(1, rank - 1))
    for key in _PER_AXIS:
        if len(attrs.get(key, ())) == rank:
            attrs[key] = [attrs[key][axis] for axis in order]
    paddings = attrs.get("explicit_paddings", ())
    if len(paddings) == 2 * rank:
        attrs["explicit_paddings"] = [paddings[2 * axis + i] for axis in order for i in (0, 1)]
    inputs = {key: _moved(key, item, order) for key, item in row.inputs.items()}
    return replace(row, attrs=attrs, inputs=inputs)


def _moved(label: str, item: Any, order: tuple[int, ...]) -> Any:
    if label in _FILTERS:
        return item
    if isinstance(item, Arg) and len(item.shape) == len(order):
        return replace(item, shape=tuple(item.shape[axis] for axis in order))
    if isinstance(item, list) and len(item) == len(order):
        return [item[axis] for axis in order]
    return item
