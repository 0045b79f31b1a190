"""Symbolic sizes that are 0 when the model runs, though JAX itself takes them for 1 at least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from yobx.jax import to_onnx
from yobx.verification import check_conversion
from yobx.verification.runner import Session

RNG = np.random.default_rng(1)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("function", [jnp.any, jnp.all, jnp.sum, jnp.prod])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_reductions(function: Callable[..., Any], size: int) -> None:
    model = to_onnx(lambda x: function(x > 0, axis=0), (normal(5, 3),), dynamic_shapes=({0: "n"},))
    x = normal(size, 3)
    got = next(iter(Session(model).run({"x": x}).values.values()))
    np.testing.assert_array_equal(got, np.asarray(function(x > 0, axis=0)))


@pytest.mark.parametrize("word", ["and", "or", "xor"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
@pytest.mark.parametrize("axes", [(0,), (0, 1)])
def test_reductions_of_bits(word: str, dtype: str, axes: tuple[int, ...]) -> None:
    combine = getattr(lax, f"bitwise_{word}")
    start = np.array(-1 if word == "and" else 0).astype(dtype)

    def function(x: Any) -> Any:
        return lax.reduce(x, x.dtype.type(start), combine, axes)

    x = np.arange(12).reshape(4, 3).astype(dtype)
    model = to_onnx(function, (x,), dynamic_shapes=({0: "n"},))
    for size in (0, 1, 4):
        part = jnp.asarray(x[:size])  # of 32 bits for 64
        got = next(iter(Session(model).run({"x": np.asarray(part)}).values.values()))
        np.testing.assert_array_equal(got, np.asarray(function(part)))


@pytest.mark.parametrize(("batch", "size"), [(2, 4), (0, 4), (2, 1), (2, 0)])
def test_determinants_of_any_number_and_size(batch: int, size: int) -> None:
    dynamic = ({0: "b", 1: "n", 2: "n"},)
    model = to_onnx(jnp.linalg.det, (normal(5, 3, 3),), dynamic_shapes=dynamic)
    x = normal(batch, size, size)
    got = next(iter(Session(model).run({model.graph.input[0].name: x}).values.values()))
    np.testing.assert_allclose(got, np.asarray(jnp.linalg.det(x)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [2, 0])
def test_complex_determinants_of_any_number_and_size(batch: int) -> None:
    x = (normal(5, 3, 3) + 1j * normal(5, 3, 3)).astype(np.complex64)
    dynamic = ({0: "b", 1: "n", 2: "n"},)
    model = to_onnx(jnp.linalg.det, (x,), dynamic_shapes=dynamic)
    y = (normal(batch, 4, 4) + 1j * normal(batch, 4, 4)).astype(np.complex64)
    feeds = {model.graph.input[0].name: np.stack([y.real, y.imag], -1)}
    got = next(iter(Session(model).run(feeds).values.values()))
    want = np.asarray(jnp.linalg.det(y))
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_an_input_of_four_bits_that_is_the_result(dtype: Any) -> None:
    check_conversion(lambda x: x, (jnp.arange(6).astype(dtype),)).raise_if_failed()


def test_an_input_of_four_bits_with_a_symbolic_size() -> None:
    x = np.arange(6).reshape(3, 2).astype(ml_dtypes.int4)
    model = to_onnx(lambda x: x.astype(jnp.float32) * 2, (x,), dynamic_shapes=({0: "n"},))
    y = np.arange(-4, 4).reshape(4, 2)
    got = next(iter(Session(model).run({"x": y.astype(ml_dtypes.int4)}).values.values()))
    np.testing.assert_array_equal(got, y * 2)


@pytest.mark.parametrize(
    "equation", ["btnh,bsnh->bnts", "btgnh,bsnh->bngts", "bnts,bsnh->btnh", "btnh,btnk->bhk"]
)
@pytest.mark.parametrize(("batch", "steps"), [(3, 5), (1, 1), (0, 5), (3, 0), (0, 0)])
def test_products_over_axes_in_any_order(equation: str, batch: int, steps: int) -> None:
    def made(batch: int, steps: int) -> list[np.ndarray]:
        sizes = {"b": batch, "t": steps, "s": steps, "n": 2, "h": 4, "g": 3, "k": 6}
        terms = equation.split("->", maxsplit=1)[0].split(",")
        return [normal(*(sizes[letter] for letter in term)) for term in terms]

    def function(x: Any, y: Any) -> Any:
        return jnp.einsum(equation, x, y)

    names = {"b": "batch", "t": "steps", "s": "steps"}
    dynamic = tuple(
        {axis: names[letter] for axis, letter in enumerate(term) if letter in names}
        for term in equation.split("->", maxsplit=1)[0].split(",")
    )
    model = to_onnx(function, tuple(made(3, 5)), dynamic_shapes=dynamic)
    given = made(batch, steps)
    feeds = dict(zip([i.name for i in model.graph.input], given, strict=True))
    got = next(iter(Session(model).run(feeds).values.values()))
    np.testing.assert_allclose(got, np.einsum(equation, *given), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tail", [(-1,), (-1, 2), (4, -1)])
def test_shapes_with_an_inferred_size(tail: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        return x.reshape(x.shape[0], *tail)

    model = to_onnx(function, (normal(3, 5, 4),), dynamic_shapes=({0: "b", 1: "t"},))
    for batch, steps in ((3, 5), (1, 7), (0, 5)):
        x = normal(batch, steps, 4)
        got = next(iter(Session(model).run({"x": x}).values.values()))
        rest = [size if size > 0 else steps * 4 // -np.prod(tail) for size in tail]
        np.testing.assert_array_equal(got, x.reshape(batch, *rest))
