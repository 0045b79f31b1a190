"""Branches, loops, calls, random numbers and linear algebra, against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import Case, check_static, check_symbolic, normal, symbolic

N = ({0: "n"},)
LOOSE = (2e-5, 2e-6)


def one(n: int) -> tuple[np.ndarray, ...]:
    """An array `(n, 4)`."""
    return (normal(n, 4),)


def branch(which: int) -> Any:
    """An array and the number of a branch."""
    return lambda n: (normal(n, 4), np.array(which, dtype=np.int32))


def choose(x: jax.Array, i: jax.Array) -> Any:
    """A switch of three branches, two results."""
    return lax.switch(i, [lambda v: (v, 1), lambda v: (v * 2, 2), lambda v: (v - x[0], 3)], x)


def nested(x: jax.Array) -> Any:
    """A scan in a loop, both reading what is outside."""

    def body(i: Any, state: jax.Array) -> jax.Array:
        total, rows = lax.scan(lambda c, r: (c + r.sum() * i, c), 0.0, x)
        return state * 0.5 + total + rows[:, None]

    return lax.fori_loop(0, 3, body, jnp.zeros_like(x))


CASES = [
    Case(
        "cond", lambda x: lax.cond(x.sum() > 0, lambda v: v, lambda v: -v, x), one, N, has=("If",)
    ),
    Case("switch first", choose, branch(0), (*N, {})),
    Case("switch too high", choose, branch(9), (*N, {})),
    Case("switch negative", choose, branch(-4), (*N, {})),
    Case(
        "fori",
        lambda x: lax.fori_loop(0, 4, lambda i, c: c * 0.5 + i, x),
        one,
        N,
        has=("Loop",),
        only=True,
    ),
    Case("fori from 2", lambda x: lax.fori_loop(2, 5, lambda i, c: c + i, x), one, N),
    Case(
        "fori of size", lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], x[0]), one, N
    ),
    Case("fori of nothing", lambda x: lax.fori_loop(5, 2, lambda i, c: c + i, x), one, N),
    Case(
        "while",
        lambda x: lax.while_loop(lambda c: c.sum() < 99, lambda c: c * 2 + 1, jnp.abs(x)),
        one,
        N,
    ),
    Case(
        "while never",
        lambda x: lax.while_loop(lambda c: c[0] < 0, lambda c: (c[0] - 1, c[1]), (1, x)),
        one,
        N,
    ),
    Case("scan", lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), x[0], x), one, N, LOOSE),
    Case(
        "scan reversed",
        lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x, reverse=True),
        one,
        N,
        LOOSE,
    ),
    Case("nested", nested, one, N, LOOSE),
    Case("map", lambda x: lax.map(jnp.sin, x), one, N),
    Case("remat", jax.checkpoint(lambda x: jnp.sin(x) * 2), one, N),
    Case("gradient", jax.grad(lambda x: jnp.tanh(x @ x.T).sum()), one, N, LOOSE),
    Case(
        "hessian", jax.hessian(lambda x: jnp.sum(x[0] ** 3)), lambda n: (normal(2, 2),), None, LOOSE
    ),
    Case("inner jit", lambda x: jax.jit(jax.jit(jnp.sin))(x) + jax.jit(jnp.sin)(-x), one, N),
    Case("jvp", lambda x: jax.jvp(jax.nn.relu, (x,), (x,)), one, N),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_static(case: Case) -> None:
    check_static(case)


@pytest.mark.parametrize("case", symbolic(CASES), ids=str)
def test_symbolic(case: Case) -> None:
    check_symbolic(case)


RANDOM = {
    "bits": lambda key: jax.random.bits(key, (5,)),
    "uniform": lambda key: jax.random.uniform(key, (3, 2)),
    "normal": lambda key: jax.random.normal(key, (7,)),
    "randint": lambda key: jax.random.randint(key, (5,), -3, 99),
    "split": lambda key: jax.random.split(key, 3),
    "permutation": lambda key: jax.random.permutation(key, 6),
    "bernoulli": lambda key: jax.random.bernoulli(key, 0.3, (9,)),
    "categorical": lambda key: jax.random.categorical(key, jnp.arange(4.0), shape=(5,)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_the_same(name: str) -> None:
    key = np.array([3, 2**31 + 7], dtype=np.uint32)
    check_static(Case(name, RANDOM[name], lambda n: (key,)))


def matrices(*shape: int) -> Any:
    """Well-conditioned square or any other matrices."""
    a = normal(*shape)
    return a + 2 * np.eye(*shape[-2:], dtype=np.float32)


ALGEBRA = {
    "cholesky": lambda a: jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2)),
    "cholesky of a negative matrix": lambda a: jnp.linalg.cholesky(-a @ jnp.swapaxes(a, -1, -2)),
    "lu": lax.linalg.lu,
    "qr": jnp.linalg.qr,
    "qr complete": lambda a: jnp.linalg.qr(a[..., :2], mode="complete"),
    "solve": lambda a: jnp.linalg.solve(a, a[..., :2]),
    "inverse": jnp.linalg.inv,
    "determinant": jnp.linalg.det,
    "triangular lower": lambda a: lax.linalg.triangular_solve(
        a, a[..., :2], left_side=True, lower=True
    ),
    "triangular right": lambda a: lax.linalg.triangular_solve(a, a[..., :2, :], lower=False),
    "triangular transposed": lambda a: lax.linalg.triangular_solve(
        a, a, left_side=True, lower=True, transpose_a=True, unit_diagonal=True
    ),
    "tridiagonal": lambda a: lax.linalg.tridiagonal_solve(
        a[0, 0].at[0].set(0), a[0, 1] + 3, a[0, 2].at[-1].set(0), a[1]
    ),
}


@pytest.mark.parametrize("name", ALGEBRA)
def test_linear_algebra(name: str) -> None:
    check_static(Case(name, ALGEBRA[name], lambda n: (matrices(2, 4, 4),), tolerance=(2e-4, 2e-5)))


BATCHES = {name: function for name, function in ALGEBRA.items() if name != "tridiagonal"}
BATCHES["tridiagonal"] = lambda a: lax.linalg.tridiagonal_solve(
    a[:, 0].at[:, 0].set(0), a[:, 1] + 3, a[:, 2].at[:, -1].set(0), a
)


@pytest.mark.parametrize("name", BATCHES)
def test_linear_algebra_of_a_symbolic_batch(name: str) -> None:
    case = Case(
        name, BATCHES[name], lambda n: (matrices(n, 4, 4),), ({0: "n"},), tolerance=(2e-4, 2e-5)
    )
    check_symbolic(case)
