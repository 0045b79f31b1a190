"""Decompositions of real matrices of symbolic size, against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import Case, agree, normal, run
from yobx.jax import to_onnx


def _dominant(x: jax.Array) -> jax.Array:
    """A matrix that no pivot is small in."""
    return x + 8 * jnp.eye(x.shape[0], dtype=x.dtype)


FUNCTIONS = {
    "cholesky": lambda x, b: jnp.linalg.cholesky(_dominant(x @ x.T)),
    "lu": lambda x, b: lax.linalg.lu(_dominant(x)),
    "qr": lambda x, b: jnp.linalg.qr(_dominant(x)),
    "solution": lambda x, b: jnp.linalg.solve(_dominant(x), b),
    "determinant": lambda x, b: jnp.linalg.slogdet(_dominant(x)),
    "triangle": lambda x, b: lax.linalg.triangular_solve(
        _dominant(x), b, left_side=True, lower=True, transpose_a=True
    ),
    "tridiagonal": lambda x, b: lax.linalg.tridiagonal_solve(x[0] / 8, x[1] + 8, x[2] / 8, b),
}


def _square(n: int) -> tuple[np.ndarray[Any, Any], ...]:
    return normal(n, n), normal(n, 2, seed=1)


def _rows(n: int) -> tuple[np.ndarray[Any, Any], ...]:
    return normal(3, n), normal(n, 2, seed=1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matrices_of_symbolic_size(name: str) -> None:
    make, axes = (_rows, {1: "n"}) if name == "tridiagonal" else (_square, {0: "n", 1: "n"})
    case = Case(name, FUNCTIONS[name], make, (axes, {0: "n"}), (2e-5, 2e-6))
    model = to_onnx(case.function, make(5), dynamic_shapes=case.dynamic)
    for size in (6, 3):
        args = make(size)
        agree(case, run(model, args), args)


def test_a_matrix_with_more_columns_than_a_symbolic_number_of_rows() -> None:
    case = Case("wide", lax.linalg.lu, lambda n: (normal(n, 5),), ({0: "n"},), (2e-5, 2e-6))
    model = to_onnx(case.function, case.make(3), dynamic_shapes=case.dynamic)
    for size in (2, 5, 7):
        args = case.make(size)
        agree(case, run(model, args), args)
