"""Arguments and results of JAX functions in every container that JAX knows."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from yobx.jax import to_onnx
from yobx.verification import check_conversion
from yobx.verification.check import run_check

X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
Pair = collections.namedtuple("Pair", "u v")
Ordered = collections.OrderedDict


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Both:
    """A dataclass that JAX knows."""

    x: Any
    y: Any


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda a: (a, Pair(a * 2, a * 3)), ["output_0", "output_1.u", "output_1.v"]),
        (lambda a: Pair(a, Pair(a * 2, a * 3)), ["u", "v.u", "v.v"]),
        (lambda a: {"p": [a * 1, a * 2], "q": (Pair(a, a),)}, ["p.0", "p.1", "q.0.u", "q.0.v"]),
        (lambda a: {10: a * 1, 2: a * 2}, ["output_2", "output_10"]),
        (lambda a: Ordered(z=a * 1, b=a * 2), ["z", "b"]),
        (lambda a: Both(a * 1, Pair(a * 2, a * 3)), ["x", "y.u", "y.v"]),
        (lambda a: [Both(a * 1, None), a * 2], ["output_0.x", "output_1"]),
        (lambda a: {"a": a * 2, "a_out": a * 3}, ["a_out", "a_out_"]),
        (lambda a: {"b.c": a * 2, "b": {"c": a * 3}}, ["b.c", "b.c_"]),
    ],
)
def test_results(function: Callable[..., Any], names: list[str]) -> None:
    result = run_check(function, (jnp.asarray(X),))
    result.raise_if_failed()
    assert list(result.outputs) == names


def test_results_of_a_decomposition_are_named_alike() -> None:
    model = to_onnx(lambda a: (a.sum(), jnp.linalg.qr(a)), (X,), dynamic_shapes={})
    assert [o.name for o in model.graph.output] == ["output_0", "output_1.Q", "output_1.R"]
    report = check_conversion(
        lambda a: (a.sum(), jnp.linalg.qr(a)), (jnp.asarray(X),), dynamic_shapes={}
    )
    assert not report.phase("structure").messages


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda n: n.u - 2 * n.v, (Pair(X, Y),)),
        (lambda n: n[10] - 2 * n[2], ({10: X, 2: Y},)),
        (lambda n: n["z"] - 2 * n["b"], (Ordered(z=X, b=Y),)),
        (lambda n: n.x - 2 * n.y, (Both(X, Y),)),
        (lambda n, m: n["k"].x - 2 * n["k"].y.u - m * n["k"].y.v, ({"k": Both(X, Pair(Y, X))}, Y)),
        (lambda n, s: n.x * s, (Both(X, None), 3)),
    ],
)
def test_arguments(function: Callable[..., Any], args: Any) -> None:
    given = jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, args)
    report = check_conversion(function, given)
    report.raise_if_failed()
    assert sum(entry.ran for entry in report.bindings) == 3


def test_an_ordered_dictionary_arrives_as_one() -> None:
    def first(n: Any) -> Any:
        return next(iter(n.values())) * 2

    model = run_check(first, (Ordered(z=jnp.asarray(X), b=jnp.asarray(Y)),))
    model.raise_if_failed()
    assert list(model.runs[0].feeds) == ["z", "b"]
    np.testing.assert_array_equal(model.runs[0].feeds["z"] * 2, model.outputs["output_0"])


def test_keywords() -> None:
    report = check_conversion(
        lambda a, *, b: a - 2 * b["z"].y, (jnp.asarray(X),), kwargs={"b": {"z": Both(X, Y)}}
    )
    report.raise_if_failed()


def test_a_wrong_order_of_arguments_is_found() -> None:
    def swapped(g: Any, op: Any) -> Any:
        return str(g.op.Sub(op.x(1), op.x(0)))

    report = check_conversion(
        lambda n: n.x - n.y,
        (Both(jnp.asarray(X), jnp.asarray(Y)),),
        extra_converters={"subtract": swapped},
    )
    assert report.failed_phase == "values"
