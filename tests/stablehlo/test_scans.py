"""Loops over the elements of arrays become ``Scan`` with small bodies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from jax import lax

from tests.stablehlo.jax_cases import Case, agree, check_static, check_symbolic, normal, run
from yobx.jax import to_onnx

N = ({0: "n"},)


def rows(n: int) -> tuple[np.ndarray, ...]:
    """An array `(n, 4)`."""
    return (normal(n, 4),)


def rnn(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """State and outputs of a recurrent cell."""
    w = jnp.array(normal(4, 4, seed=5))

    def step(h: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = jnp.tanh(row + h @ w)
        return h, h * 2

    return lax.scan(step, jnp.zeros(4), x)


def body_of(model: onnx.ModelProto, op_type: str) -> list[str]:
    """Operators in the body of the first node of a type."""
    node = next(n for n in model.graph.node if n.op_type == op_type)
    (body,) = (a.g for a in node.attribute if a.name == "body")
    return [n.op_type for n in body.node]


SCANS = [
    Case("rnn", rnn, rows, N, (2e-5, 2e-6), has=("Scan",)),
    Case(
        "reversed",
        lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x, reverse=True),
        rows,
        N,
        (2e-5, 2e-6),
        has=("Scan",),
    ),
    Case("map", lambda x: lax.map(lambda r: r.sum(), x), rows, N, has=("Scan",)),
    Case(
        "counter and row",
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + i * x[i], x[0]),
        rows,
        N,
        (2e-5, 2e-6),
        has=("Scan",),
    ),
    Case(
        "gradient",
        jax.grad(lambda x: lax.scan(lambda c, r: (jnp.sin(c) * r, c), x[0], x)[0].sum()),
        rows,
        N,
        (2e-5, 2e-6),
        has=("Scan", "Scan"),
    ),
    Case("no rows", lambda x: lax.scan(lambda c, _: (c * 2, c), x, None, length=3), rows, N),
    Case(
        "state without rows to stack",
        lambda x: lax.scan(lambda c, r: (c + r.sum(), None), 0.0, x)[0],
        rows,
        N,
        (2e-5, 2e-6),
    ),
    Case(
        "integers and flags",
        lambda x: lax.scan(lambda c, r: ((c[0] + 1, r[0] > 0), c), (0, True), x),
        rows,
        N,
    ),
    Case(
        "two arrays, one of them twice",
        lambda x: lax.scan(lambda c, r: (c + r[0] @ r[1], r[0] - x[0]), 0.0, (x, 2 * x)),
        rows,
        N,
        (2e-5, 2e-6),
    ),
    Case(
        "scan in a scan",
        lambda x: lax.scan(lambda c, r: lax.scan(lambda d, v: (d + v, d * v), c, r), 0.0, x),
        rows,
        N,
        (2e-5, 2e-5),
    ),
    Case(
        "written and read",
        lambda x: lax.fori_loop(1, 4, lambda i, c: c.at[i].set(c[i - 1] + x[0]), jnp.zeros((4, 4))),
        rows,
        N,
    ),
    Case(
        "shorter than the array",
        lambda x: lax.fori_loop(0, 2, lambda i, c: c + x[i], x[0]),
        lambda n: (normal(4, n),),
        ({1: "n"},),
    ),
    Case(
        "along another axis",
        lambda x: lax.fori_loop(
            0, 4, lambda i, c: c + lax.dynamic_index_in_dim(x, i, 1, keepdims=False), x[:, 0]
        ),
        rows,
        N,
    ),
    Case(
        "square, along another axis",
        lambda x: lax.fori_loop(
            0, 4, lambda i, c: c + lax.dynamic_index_in_dim(x, i, 1, keepdims=False), x[:, 0]
        ),
        lambda n: (normal(4, 4),),
    ),
    Case(
        "two after the counter",
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[(i + 2) % 5], x[0]),
        rows,
    ),
    Case(
        "nothing",
        lambda x: lax.scan(lambda c, r: (c + r, r), x[0], x[:0]),
        rows,
    ),
]


@pytest.mark.parametrize("case", SCANS, ids=str)
def test_static(case: Case) -> None:
    check_static(case)


@pytest.mark.parametrize("case", [c for c in SCANS if c.dynamic is not None], ids=str)
def test_symbolic(case: Case) -> None:
    check_symbolic(case)


@pytest.mark.parametrize("dynamic", [{}, {0: "n"}], ids=["static", "symbolic"])
def test_bodies_hold_the_computation_alone(dynamic: dict[int, str]) -> None:
    model = to_onnx(rnn, rows(5), dynamic_shapes=(dynamic,))
    assert body_of(model, "Scan") == ["MatMul", "Add", "Tanh", "Mul"]
    assert "Loop" not in [n.op_type for n in model.graph.node]


def test_a_counter_that_nobody_reads_is_not_carried() -> None:
    model = to_onnx(
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], x[0]),
        rows(5),
        dynamic_shapes={},
    )
    assert body_of(model, "Scan") == ["Add"]
    node = next(n for n in model.graph.node if n.op_type == "Scan")
    assert len(node.input) == 2


def test_complex_rows() -> None:
    x = (normal(5, 4) + 1j * normal(5, 4, seed=1)).astype(np.complex64)
    case = Case("c", lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), x[0], x), lambda n: (x,))
    model = to_onnx(case.function, (x,), dynamic_shapes={})
    assert "Scan" in [n.op_type for n in model.graph.node]
    agree(case, run(model, (x,)), (x,))
