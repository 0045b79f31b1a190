"""Random numbers, drawn anew in every run: values differ from TensorFlow's, distributions agree.

What a stateless operation draws from a constant seed is no chance: it is a constant, and the same.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.errors import UnsupportedOpsetError
from yobx.lowering import shapes
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.gather import gather
from yobx.lowering.special import erfinv
from yobx.tensorflow.ops._op import FLOATS, attr, constant
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

F = np.float32
_WHOLE = ("int32", "int64")
#: The newest opset whose random operators onnxruntime has.
_NEWEST = 21
Converter = Callable[[GraphBuilder, dict[str, Any], list[str], Any], str]


def _seed(op: Any, turn: int) -> dict[str, float]:
    """Return the seed attribute if the op has one of its own; one for each draw."""
    seeds = [int(attr(op, name, 0)) for name in ("seed", "seed2")]
    return {"seed": float((seeds[0] * 31 + seeds[1] + turn) % 2**23)} if any(seeds) else {}


def seeded(function: Converter) -> Converter:
    """Let TensorFlow draw when everything that a stateless operation depends on is constant."""

    @wraps(function)
    def convert(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
        drawn = _drawn(g, op) if op.type.startswith("Stateless") else None
        if drawn is None:
            return function(g, sts, outputs, op)
        for name, value in zip(outputs, drawn, strict=True):
            g.make_initializer(name, value)
        return outputs[0]

    return convert


def _drawn(g: GraphBuilder, op: Any) -> list[npt.NDArray[Any]] | None:
    """Return what TensorFlow draws, or ``None`` if that depends on inputs of the model."""
    import tensorflow as tf

    values = [constant(g, op, i) for i in range(len(op.inputs))]
    if any(value is None for value in values):
        return None
    inputs = {
        argument.name: tf.constant(value, tensor.dtype)
        for argument, value, tensor in zip(op.op_def.input_arg, values, op.inputs, strict=True)
    }
    call = getattr(tf.raw_ops, op.type)
    others = set(inspect.signature(call).parameters) - {*inputs, "name"}
    found = call(**inputs, **{name: op.get_attr(name) for name in others})
    return [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]


def draw(
    g: GraphBuilder, op: Any, kind: str, shape: str, *, turn: int = 0, **keywords: float
) -> str:
    """Emit float32 random numbers of a run-time shape.

    Args:
        g: Builder.
        op: The operation, which may have a seed.
        kind: Operator of ONNX.
        shape: The shape, an integer vector.
        turn: Number of this draw among those of the operation: each has a seed of its own.
        **keywords: Attributes of the operator.

    Raises:
        UnsupportedOpsetError: If the target opset is newer than what onnxruntime can draw with.
    """
    if g.opset("") > _NEWEST:
        raise UnsupportedOpsetError(
            f"{op.type}: onnxruntime has no random operators from opset {_NEWEST + 1} on. "
            f"Received: target_opset={g.opset('')}. Where: {op.name}. "
            f"Convert with target_opset={_NEWEST}.",
            since=1,
            until=_NEWEST,
            op_type=kind,
        )
    like = g.op.Expand(np.array(0, F), shapes.vector(g, shape))
    return str(getattr(g.op, kind)(like, **_seed(op, turn), **keywords))


def finish(g: GraphBuilder, op: Any, value: str, outputs: list[str]) -> str:
    """Emit the numbers in the dtype of the operation."""
    return cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])


_UNIFORM = ("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2")


@register_tf_op_converter(_UNIFORM, dtypes={"dtype": FLOATS})
@seeded
def convert_uniform(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Uniform numbers in `[0, 1)`."""
    return finish(g, op, draw(g, op, "RandomUniformLike", op.inputs[0].name), outputs)


_NORMAL = ("RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2")


@register_tf_op_converter(_NORMAL, dtypes={"dtype": FLOATS})
@seeded
def convert_normal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Normal numbers with mean 0 and deviation 1."""
    return finish(g, op, draw(g, op, "RandomNormalLike", op.inputs[0].name), outputs)


_TRUNCATED = ("TruncatedNormal", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2")


@register_tf_op_converter(_TRUNCATED, dtypes={"dtype": FLOATS})
@seeded
def convert_truncated(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Normal numbers within two deviations, by the inverse of their distribution function."""
    edge = math.erf(2.0 / math.sqrt(2.0))
    uniform = draw(g, op, "RandomUniformLike", op.inputs[0].name, low=-edge, high=edge)
    value = g.op.Mul(erfinv(g, uniform), F(math.sqrt(2.0)))
    return finish(g, op, value, outputs)


_INTEGERS = {
    "RandomUniformInt": (1, 2),
    "StatelessRandomUniformInt": (2, 3),
    "StatelessRandomUniformIntV2": (4, 5),
}


@register_tf_op_converter("RandomUniformInt", dtypes={"Tout": _WHOLE})
@register_tf_op_converter(tuple(n for n in _INTEGERS if "Stateless" in n), dtypes={"dtype": _WHOLE})
@seeded
def convert_integers(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Uniform integers in `[minval, maxval)`."""
    first, last = (op.inputs[i].name for i in _INTEGERS[op.type])
    uniform = cast(g, draw(g, op, "RandomUniformLike", op.inputs[0].name), np.float64)
    low, high = to_int64(g, first), to_int64(g, last)
    span = cast(g, g.op.Sub(high, low), np.float64)
    offset = cast(g, g.op.Floor(g.op.Mul(uniform, span)), np.int64)
    value = g.op.Min(g.op.Add(low, offset), g.op.Sub(high, np.array(1, np.int64)))
    return finish(g, op, value, outputs)


@register_tf_op_converter(("RandomShuffle", "StatelessShuffle"))
@seeded
def convert_shuffle(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The rows in random order."""
    x = op.inputs[0].name
    rows = shapes.shape_of(g, x, 0, 1)
    keys = draw(g, op, "RandomUniformLike", rows)
    _, order = g.op.TopK(keys, rows, axis=0, outputs=2)
    return gather(g, x, order, outputs=outputs[:1], name=op.name)


_CLASSES = {"T": FLOATS, "output_dtype": _WHOLE}


@register_tf_op_converter(("Multinomial", "StatelessMultinomial"), dtypes=_CLASSES)
@seeded
def convert_multinomial(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Classes drawn by unnormalised log-probabilities: the largest after Gumbel noise."""
    logits = cast(g, op.inputs[0].name, F)
    count = shapes.vector(g, op.inputs[1].name)
    shape = g.op.Concat(
        shapes.shape_of(g, logits, 0, 1), count, shapes.shape_of(g, logits, 1), axis=0
    )
    tiny = float(np.finfo(F).tiny)
    uniform = draw(g, op, "RandomUniformLike", shape, low=tiny, high=1.0)
    noise = g.op.Neg(g.op.Log(g.op.Neg(g.op.Log(uniform))))
    noisy = g.op.Add(g.op.Unsqueeze(logits, np.array([1], np.int64)), noise)
    return finish(g, op, g.op.ArgMax(noisy, axis=-1, keepdims=0), outputs)


@register_tf_op_converter(("StatelessRandomGetAlg", "StatelessRandomGetKeyCounter"))
@seeded
def convert_key(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Keys of the generators, which the ONNX random operators do not take: constants."""
    for name, tensor in zip(outputs, op.outputs, strict=True):
        shape = [int(d) for d in tensor.shape.as_list()]
        g.make_initializer(name, np.ones(shape, tensor.dtype.as_numpy_dtype))
    return outputs[0]


_RATES = ("float16", "float32", "float64", *_WHOLE)


@register_tf_op_converter("RandomPoissonV2", dtypes={"R": _RATES, "dtype": _RATES})
def convert_poisson(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Poisson numbers for rates below 64, by inversion."""
    rates = cast(g, op.inputs[1].name, np.float64)
    shape = g.op.Concat(shapes.vector(g, op.inputs[0].name), g.op.Shape(rates), axis=0)
    uniform = g.op.Unsqueeze(
        cast(g, draw(g, op, "RandomUniformLike", shape), np.float64), np.array([-1], np.int64)
    )
    k = np.arange(160, dtype=np.float64)
    log_factorial = np.array([math.lgamma(v + 1.0) for v in k])
    wide = g.op.Unsqueeze(rates, np.array([-1], np.int64))
    density = g.op.Exp(g.op.Sub(g.op.Sub(g.op.Mul(g.op.Log(wide), k), wide), log_factorial))
    reached = g.op.CumSum(density, np.array(-1, np.int64))
    below = cast(g, g.op.Less(reached, uniform), np.int64)
    count = g.op.ReduceSum(below, np.array([-1], np.int64), keepdims=0)
    return finish(g, op, count, outputs)
