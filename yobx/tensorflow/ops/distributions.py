"""Random numbers of gamma and of truncated normal distributions, by proposals and by inversion.

A loop until all are accepted has no known end: eight proposals are drawn at once, and the first
that is accepted is taken. For less than one number in `1e8` none is, and the first one stands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.special import ndtri
from yobx.tensorflow.ops.random import draw, finish, seeded
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

F = np.float32
_LAST = np.array([-1], np.int64)
_PROPOSALS = np.array([8], np.int64)
_DTYPES = ("float16", "float32", "float64")
_TINY = float(np.finfo(F).tiny)


def _first_accepted(g: GraphBuilder, values: str, accepted: str) -> str:
    """Return the first accepted value along the last axis, which goes."""
    index = g.op.ArgMax(cast(g, accepted, np.int32), axis=-1, keepdims=1)
    return str(g.op.Squeeze(g.op.GatherElements(values, index, axis=-1), _LAST))


def _proposals(g: GraphBuilder, shape: str) -> str:
    return str(g.op.Concat(shapes.vector(g, shape), _PROPOSALS, axis=0))


_GAMMA = {"RandomGamma": 1, "StatelessRandomGammaV2": 2, "StatelessRandomGammaV3": 4}


@register_tf_op_converter("RandomGamma", dtypes={"T": _DTYPES})
@register_tf_op_converter(
    ("StatelessRandomGammaV2", "StatelessRandomGammaV3"), dtypes={"dtype": _DTYPES}
)
@seeded
def convert_gamma(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Gamma numbers of rate 1, by the method of Marsaglia and Tsang."""
    alpha = cast(g, op.inputs[_GAMMA[op.type]].name, F)
    shape = shapes.vector(g, op.inputs[0].name)
    if op.type == "RandomGamma":
        shape = str(g.op.Concat(shape, g.op.Shape(alpha), axis=0))
    less = g.op.Less(alpha, F(1))
    d = g.op.Sub(g.op.Add(alpha, cast(g, less, F)), F(1 / 3))
    wide = g.op.Unsqueeze(d, _LAST)
    c = g.op.Div(F(1 / 3), g.op.Sqrt(wide))
    each = _proposals(g, shape)
    normal = draw(g, op, "RandomNormalLike", each)
    uniform = draw(g, op, "RandomUniformLike", each, turn=1, low=_TINY, high=1.0)
    root = g.op.Add(F(1), g.op.Mul(c, normal))
    positive = g.op.Greater(root, F(0))
    cube = g.op.Pow(g.op.Where(positive, root, F(_TINY) ** F(0.25)), F(3))
    square = g.op.Mul(g.op.Mul(normal, normal), F(0.5))
    bound = g.op.Mul(wide, g.op.Add(g.op.Sub(F(1), cube), g.op.Log(cube)))
    fits = g.op.And(positive, g.op.Less(g.op.Log(uniform), g.op.Add(square, bound)))
    value = g.op.Mul(d, _first_accepted(g, cube, fits))
    # Below one, a number for alpha + 1 times a power of a uniform one.
    other = draw(g, op, "RandomUniformLike", shape, turn=2, low=_TINY, high=1.0)
    power = g.op.Pow(other, g.op.Div(F(1), g.op.Where(less, alpha, F(1))))
    return finish(g, op, g.op.Where(less, g.op.Mul(value, power), value), outputs)


_TRUNCATED = ("ParameterizedTruncatedNormal", "StatelessParameterizedTruncatedNormal")
#: From here on, in deviations, proposals are better than the inverse of the distribution function.
_FAR = 3.0


@register_tf_op_converter(_TRUNCATED, dtypes={"dtype": _DTYPES})
@seeded
def convert_truncated(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Normal numbers between bounds, each with a mean and a deviation of its own."""
    shape = shapes.vector(g, op.inputs[0].name)
    mean, deviation, low, high = (cast(g, t.name, F) for t in op.inputs[-4:])
    if op.type == "ParameterizedTruncatedNormal":
        # One of each for all numbers, or for all along the first axis.
        n = op.inputs[0].shape[0] if op.inputs[0].shape.rank == 1 else None
        count = n if n is not None else shapes.rank(g, op.outputs[0].name)
        column = np.array([-1] + [1] * (int(count) - 1), np.int64)
        mean, deviation, low, high = (
            str(g.op.Reshape(v, column)) for v in (mean, deviation, low, high)
        )
    first = g.op.Div(g.op.Sub(low, mean), deviation)
    last = g.op.Div(g.op.Sub(high, mean), deviation)
    # Of two tails the lower one, where the distribution function is small and exact.
    upper = g.op.Greater(g.op.Add(first, last), F(0))
    first, last = (
        g.op.Where(upper, g.op.Neg(last), first),
        g.op.Where(upper, g.op.Neg(first), last),
    )
    uniform = draw(g, op, "RandomUniformLike", shape, low=_TINY, high=1.0)
    below, above = _cumulated(g, first), _cumulated(g, last)
    inner = ndtri(g, g.op.Add(below, g.op.Mul(uniform, g.op.Sub(above, below))))
    inner = g.op.Max(g.op.Min(inner, last), first)
    tail = _tail(g, op, shape, first, last)
    value = g.op.Where(g.op.Less(last, F(-_FAR)), tail, inner)
    value = g.op.Where(upper, g.op.Neg(value), value)
    return finish(g, op, g.op.Add(g.op.Mul(value, deviation), mean), outputs)


def _cumulated(g: GraphBuilder, x: str) -> str:
    """Return the distribution function of normal numbers."""
    half = g.op.Mul(g.op.Erf(g.op.Mul(x, F(math.sqrt(0.5)))), F(0.5))
    return str(g.op.Add(half, F(0.5)))


def _tail(g: GraphBuilder, op: Any, shape: str, first: str, last: str) -> str:
    """Return normal numbers between two bounds far below zero, by Marsaglia's proposals."""
    first, last = (g.op.Unsqueeze(v, _LAST) for v in (first, last))
    near = g.op.Min(last, F(-_FAR))
    each = _proposals(g, shape)
    one, two = (
        draw(g, op, "RandomUniformLike", each, turn=turn, low=_TINY, high=1.0) for turn in (1, 2)
    )
    far = g.op.Min(first, near)
    # (far - near) * (far + near), which does not overflow before it is needed.
    width = g.op.Mul(g.op.Sub(far, near), g.op.Add(far, near))
    kept = g.op.Sub(F(1), g.op.Exp(g.op.Mul(width, F(-0.5))))
    inside = g.op.Sub(F(1), g.op.Mul(one, kept))
    length = g.op.Sqrt(g.op.Sub(g.op.Mul(near, near), g.op.Mul(F(2), g.op.Log(inside))))
    fits = g.op.Less(g.op.Mul(two, length), g.op.Neg(near))
    return str(g.op.Neg(_first_accepted(g, length, fits)))
