"""Which (type attribute, dtype) pairs of an op type need a case: what is declared and can run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

from yobx.tensorflow.ops import register
from yobx.tensorflow.register import get_tf_op_registration

register()
Pair = tuple[str, str]


@cache
def type_attributes(op_type: str) -> dict[str, Any]:
    """Return the definitions of the attributes that hold dtypes."""
    op_def = op_def_registry.get(op_type)
    return {a.name: a for a in op_def.attr if a.type in ("type", "list(type)")}


@cache
def declared_dtypes(op_type: str) -> tuple[str, ...]:
    """Return the dtypes that the converter takes, without complex ones, in alphabetical order."""
    registration = get_tf_op_registration(op_type)
    if registration is None:
        raise KeyError(op_type)
    dtypes = registration.dtypes or ("float32", "int32", "string")
    return tuple(sorted(d for d in dtypes if not d.startswith("complex")))


@cache
def declared(op_type: str, attribute: str) -> frozenset[str] | None:
    """Return the dtypes that the converter declares for an attribute, ``None`` for no statement."""
    registration = get_tf_op_registration(op_type)
    if registration is None:
        raise KeyError(op_type)
    if registration.by_attribute:
        return registration.by_attribute.get(attribute)
    return registration.dtypes


@cache
def runnable(op_type: str, attribute: str) -> frozenset[str] | None:
    """Return the dtypes that TensorFlow allows and has a CPU kernel for; ``None`` for any."""
    definition = type_attributes(op_type)[attribute]
    listed = _names(definition.allowed_values.list.type)
    allowed = None if not listed else frozenset(listed)
    found: set[str] = set()
    able = [
        kernel
        for kernel in kernels.get_registered_kernels_for_op(op_type).kernel
        if kernel.device_type == "CPU"
    ]
    if not able:  # TensorFlow replaces it by others before it runs: a reference stands for it.
        return allowed
    for kernel in able:
        limits = [c for c in kernel.constraint if c.name == attribute]
        if not limits:
            return allowed
        for limit in limits:
            found.update(_names(limit.allowed_values.list.type))
    return frozenset(found) if allowed is None else allowed & found


@cache
def required(op_type: str) -> frozenset[Pair]:
    """Return the pairs that a case must show, besides one case of the op type at all."""
    pairs: set[Pair] = set()
    for attribute in type_attributes(op_type):
        stated, able = declared(op_type, attribute), runnable(op_type, attribute)
        if stated is not None:
            pairs |= {(attribute, d) for d in (stated if able is None else stated & able)}
    return frozenset(pairs)


def shown(nodes: Iterable[Any]) -> Iterator[tuple[str, Pair | None]]:
    """Yield what the nodes of a graph show: their op types, and those with each pair."""
    for node in nodes:
        if op_def_registry.get(node.op) is None:
            continue
        yield node.op, None
        for attribute in type_attributes(node.op):
            value = node.attr[attribute]
            for code in [value.type] if value.HasField("type") else value.list.type:
                yield node.op, (attribute, tf.dtypes.as_dtype(code).name)


def _names(codes: Iterable[int]) -> list[str]:
    return [tf.dtypes.as_dtype(code).name for code in codes]
