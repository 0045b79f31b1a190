"""A raw operation and its inputs in one row; a case for every dtype of every type attribute."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from conformance.tf_ops.cases import (
    PRIMARY,
    Arg,
    Case,
    numpy_dtype,
    works_in_tf,
)
from conformance.tf_ops.declared import required, runnable, type_attributes

_PREFERRED = ("float32", "int32", "int64", "float64", "uint8", "bool", "string", "complex64")
_COMPLEX = {"complex64": "float32", "complex128": "float64"}
#: onnxruntime hands such arrays neither in nor out: the model casts them.
_EIGHTHS = ("float8_e4m3fn", "float8_e5m2")
_HALVES = ("float16", "bfloat16")


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        op_type: TensorFlow op type.
        inputs: Argument of ``tf.raw_ops`` -> ``Arg`` (an input of the model), a constant, or a list
            of ``Arg``. Their dtypes follow from the type attributes where these name them.
        attrs: Other attributes; type attributes here are the ones to begin with.
        ulps: Allowed distance in float32 and float64.
        half: Allowed distance in float16 and bfloat16.
        options: Other fields of :class:`Case`.
        tag: What tells two rows of one op type apart.
        outputs: Outputs to compare, if not all.
        only: Type attributes to go through, if not all: the rest has cases elsewhere.
        elsewhere: Dtypes that have rows of their own.
        reference: What to compare with, where TensorFlow no longer runs the operation itself.
        vary: Enumerations and flags to go through; ``None`` for all if it is the first row of its
            op type in its module, else none.
        refuses: ``"attribute=value"`` -> a piece of the error, where it cannot be converted.
        compiled: Whether to compare with XLA, because plain kernels do not know the attributes.
    """

    op_type: str
    inputs: Mapping[str, Any]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    ulps: float = 0.0
    half: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    tag: str = ""
    outputs: tuple[int, ...] | None = None
    only: tuple[str, ...] | None = None
    elsewhere: tuple[str, ...] = ()
    reference: Callable[..., Any] | None = None
    vary: tuple[str, ...] | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    compiled: bool = False

    def case(self, suffix: str) -> Case:
        """Return a case for the dtypes to begin with.

        Args:
            suffix: End of its name.
        """
        return self._case(self._base(), suffix)

    def cases_for(self, attribute: str, dtype: str, suffix: str) -> Iterator[Case]:
        """Yield cases in which a type attribute is a dtype, the likeliest for TensorFlow first.

        Args:
            attribute: The type attribute.
            dtype: The dtype.
            suffix: End of their name.
        """
        base = self._base()
        if base.get(attribute) == dtype or self._is_list(attribute):
            return
        for kinds in self._choices(base, attribute, dtype):
            yield self._case(kinds, suffix)

    def cases(self) -> Iterator[Case]:
        """Yield a case for the dtypes to begin with, and for every other dtype of an attribute."""
        yield self.case("")
        for attribute, dtype in sorted(required(self.op_type)):
            if dtype in self.elsewhere or (self.only is not None and attribute not in self.only):
                continue
            tried = self.cases_for(attribute, dtype, f"-{attribute}-{dtype}")
            found = next(filter(works_in_tf, tried), None)
            if found is not None:
                yield found

    def _is_list(self, attribute: str) -> bool:
        return bool(type_attributes(self.op_type)[attribute].type != "type")

    def _base(self) -> dict[str, str]:
        kinds: dict[str, str] = {}
        for name, definition in type_attributes(self.op_type).items():
            if self._is_list(name):
                continue
            given = self._given(name)
            if given is None and definition.default_value.type:
                given = tf.dtypes.as_dtype(definition.default_value.type).name
            able = runnable(self.op_type, name)
            if given is None or (able is not None and given not in able):
                wanted = {d for a, d in required(self.op_type) if a == name} or able or _PREFERRED
                given = next((d for d in _PREFERRED if d in wanted), next(iter(sorted(wanted))))
            kinds[name] = given
        return kinds

    def _given(self, attribute: str) -> str | None:
        if attribute in self.attrs:
            return str(tf.dtypes.as_dtype(self.attrs[attribute]).name)
        for label, arg in arguments(self.op_type):
            value = self.inputs[label]
            first = value[0] if isinstance(value, list) and value else value
            if arg.type_attr == attribute and isinstance(first, Arg):
                return first.dtype
        return None

    def _choices(
        self, base: Mapping[str, str], attribute: str, dtype: str
    ) -> Iterator[dict[str, str]]:
        """Yield what the other attributes may be: as they were, or of the same dtype."""
        yield {**base, attribute: dtype}
        for name in base:
            if name != attribute:
                able = runnable(self.op_type, name)
                for other in (dtype, _COMPLEX.get(dtype, ""), *_pair_of(dtype)):
                    if other and (able is None or other in able):
                        yield {**base, attribute: dtype, name: other}
        same = {}
        for name in base:
            able = runnable(self.op_type, name)
            same[name] = dtype if able is None or dtype in able else base[name]
        yield same

    def _case(self, kinds: Mapping[str, str], suffix: str) -> Case:
        names: list[tuple[str, str]] = []
        args: list[Arg] = []
        fixed: dict[str, Any] = {}
        bound = {a.type_attr for _, a in arguments(self.op_type)}
        for label, arg in arguments(self.op_type):
            value = self.inputs[label]
            kind = kinds.get(arg.type_attr) or (
                tf.dtypes.as_dtype(arg.type).name if arg.type else ""
            )
            for item in value if isinstance(value, list) and arg.number_attr else [value]:
                if isinstance(item, Arg):
                    names.append((label, kind))
                    args.append(_typed(item, kind or item.dtype))
                else:
                    fixed.setdefault(label, []).append(_constant(item, kind))
        lists = {label for label, a in arguments(self.op_type) if a.number_attr}
        attrs = {k: v for k, v in self.attrs.items() if k not in kinds}
        attrs |= {
            k: tf.dtypes.as_dtype(v)
            for k, v in kinds.items()
            if k not in bound and k in type_attributes(self.op_type)
        }
        raw = getattr(tf.raw_ops, self.op_type)
        if op_def_registry.get(self.op_type).deprecation.version:
            raw = partial(_from_old_graph, self.op_type, kinds)

        def run(function: Callable[..., Any], tensors: Sequence[Any]) -> Any:
            given = {k: list(v) for k, v in fixed.items()}
            for (name, kind), tensor in zip(names, tensors, strict=True):
                pair = kind in _COMPLEX
                value = tf.complex(tensor[..., 0], tensor[..., 1]) if pair else tensor
                value = tf.cast(value, kind) if kind in _EIGHTHS else value
                given.setdefault(name, []).append(value)
            ready = {k: v if k in lists else v[0] for k, v in given.items()}
            return self._results(function(**ready, **attrs))

        low = set(kinds.values()) & set(_HALVES)
        options = {"ulps": self.half if low else self.ulps, **self.options}
        every = {*kinds.values(), *(a.dtype for a in args)}
        options.setdefault("dynamic", bool(every & set(PRIMARY)) and not every & set(_HALVES))
        tag = f"-{self.tag}" if self.tag else ""
        if self.reference is not None:
            options["eager"] = lambda *tensors: run(self.reference, tensors)
        if self.compiled:
            options["eager"] = tf.function(lambda *tensors: run(raw, tensors), jit_compile=True)
        name = f"{self.op_type}{tag}{suffix}"
        return Case(
            name, lambda *tensors: run(raw, tensors), tuple(args), op_type=self.op_type, **options
        )

    def _results(self, made: Any) -> Any:
        results = list(tf.nest.flatten(made)) if not isinstance(made, tf.Operation) else []
        if self.outputs is not None:
            results = [results[i] for i in self.outputs]
        results = [tf.cast(t, "float32") if t.dtype.name in _EIGHTHS else t for t in results]
        return [
            tf.stack([tf.math.real(t), tf.math.imag(t)], -1) if t.dtype.is_complex else t
            for t in results
        ]


@cache
def arguments(op_type: str) -> tuple[tuple[str, Any], ...]:
    """Return the inputs by their name in ``tf.raw_ops``, which renames some, with definitions."""
    op_def = op_def_registry.get(op_type)
    names = list(inspect.signature(getattr(tf.raw_ops, op_type)).parameters)
    known = {a.name for a in (*op_def.input_arg, *op_def.attr)} | {"name"}
    renamed = iter([n for n in names if n not in known])
    return tuple((a.name if a.name in names else next(renamed), a) for a in op_def.input_arg)


def _from_old_graph(op_type: str, kinds: Mapping[str, str], **given: Any) -> Any:
    """Add an operation that only graphs of old versions of TensorFlow may hold."""
    old = tf.compat.v1.GraphDef()
    old.versions.producer = 5
    node = old.node.add(op=op_type, name="old")
    labels = [label for label, _ in arguments(op_type)]
    for label in labels:
        dtype = tf.convert_to_tensor(given[label]).dtype.as_datatype_enum
        old.node.add(op="Placeholder", name=label).attr["dtype"].type = dtype
        node.input.append(label)
    for name, kind in kinds.items():
        node.attr[name].type = tf.dtypes.as_dtype(kind).as_datatype_enum
    for name in set(given) - set(labels) - set(kinds):
        if isinstance(given[name], bool):
            node.attr[name].b = given[name]
        else:
            node.attr[name].i = int(given[name])
    results = [f"old:{i}" for i in range(len(op_def_registry.get(op_type).output_arg))]
    return tf.graph_util.import_graph_def(
        old, {k: tf.identity(given[k]) for k in labels}, results, name=""
    )


def _pair_of(dtype: str) -> tuple[str, ...]:
    """Return the complex dtype with this real part."""
    return tuple(c for c, real in _COMPLEX.items() if real == dtype)


def _typed(arg: Arg, kind: str) -> Arg:
    if kind in _COMPLEX:
        return replace(arg, dtype=_COMPLEX[kind], shape=(*arg.shape, 2))
    return replace(arg, dtype="float32" if kind in _EIGHTHS else kind)


def _constant(value: Any, kind: str) -> Any:
    if kind in ("", "resource", "variant"):
        return value
    if kind == "string":
        return tf.constant(value, tf.string)
    return tf.constant(np.asarray(value).astype(numpy_dtype(kind)))
