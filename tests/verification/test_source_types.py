"""What a converter loses by the way it takes is no excuse: noise has the types of the source."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
from onnx import TensorProto

from yobx.verification import check_conversion

W = np.random.default_rng(0).standard_normal((16, 16)) / 4
X = np.random.default_rng(1).standard_normal((5, 16))


def by_way_of(operator: str, wide: int, back: int, *more: Any, **attributes: Any) -> Any:
    """A converter that casts what it is given, computes, and casts back."""

    def convert(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
        given = [g.op.Cast(i.name, to=wide) for i in op.inputs[: 1 if more else None]]
        return g.op.Cast(
            getattr(g.op, operator)(*given, *more, **attributes), to=back, outputs=outputs
        )

    return convert


def failed(function: Any, args: tuple[Any, ...], **converters: Any) -> bool:
    """Whether the values are refused, where the shipped converters give the right ones."""
    right = check_conversion(function, args, localize=False)
    assert right.passed, right.text()
    report = check_conversion(function, args, extra_converters=converters, localize=False)
    return report.failed_phase == "values"


def test_whole_numbers_by_way_of_floats() -> None:
    ids = np.array([2**53 + 1, 2**60 + 7, 3], np.int64)
    wrong = by_way_of("Add", TensorProto.DOUBLE, TensorProto.INT64)
    assert failed(tf.function(lambda x: x + 2), (ids,), AddV2=wrong)
    many = np.random.default_rng(0).integers(0, 2**28, (5, 7)).astype(np.int32)
    axes = np.array([-1], np.int64)
    total = by_way_of("ReduceSum", TensorProto.FLOAT, TensorProto.INT32, axes, keepdims=0)
    assert failed(tf.function(lambda x: tf.reduce_sum(x, -1)), (many,), Sum=total)


def test_what_floats_decide_may_turn_over() -> None:
    """Whole numbers of a source with floats are what rounding makes of them."""
    w = W.astype(np.float32)
    report = check_conversion(
        tf.function(lambda x: tf.cast(tf.floor(tf.matmul(x, w) * 1e4), tf.int32)),
        (X.astype(np.float32),),
        localize=False,
    )
    assert report.passed, report.text()


@pytest.mark.parametrize(
    ("dtype", "wide", "back"),
    [
        ("float64", TensorProto.FLOAT, TensorProto.DOUBLE),
        ("float32", TensorProto.FLOAT16, TensorProto.FLOAT),
    ],
)
def test_fewer_bits_than_the_source_has(dtype: str, wide: int, back: int) -> None:
    w = W.astype(dtype)
    function = tf.function(lambda x: tf.tanh(tf.matmul(x, w)))
    assert failed(function, (X.astype(dtype),), MatMul=by_way_of("MatMul", wide, back))


def test_fewer_bits_than_a_source_of_jax_has() -> None:
    def narrow(g: Any, op: Any) -> Any:
        wide = g.op.Exp(g.op.Cast(op.x(0), to=TensorProto.FLOAT))
        return g.op.Cast(wide, to=TensorProto.DOUBLE)

    with jax.enable_x64(True):
        args = (jnp.asarray(X),)
        assert failed(lambda x: jnp.sum(jnp.exp(x), -1), args, exponential=narrow)


@pytest.mark.parametrize("kind", ["Log1p", "Expm1"])
def test_one_function_whose_parts_cancel(kind: str) -> None:
    rng = np.random.default_rng(0)
    x = np.abs(rng.standard_normal((5, 8))) * 10.0 ** rng.uniform(-8, 0, (5, 8))
    one = np.float32(1)

    def parts(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
        if kind == "Log1p":
            return g.op.Log(g.op.Add(op.inputs[0].name, one), outputs=outputs)
        return g.op.Sub(g.op.Exp(op.inputs[0].name), one, outputs=outputs)

    function = tf.function(lambda v: tf.math.log1p(v) if kind == "Log1p" else tf.math.expm1(v))
    assert failed(function, (x.astype(np.float32),), **{kind: parts})
