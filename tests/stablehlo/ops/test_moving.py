"""Reshapes, slices, padding, gather and scatter, against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import (
    Case,
    check_static,
    check_symbolic,
    normal,
    symbolic,
    whole,
)
from yobx.jax import to_onnx

N = ({0: "n"},)


def one(n: int) -> tuple[np.ndarray, ...]:
    """An array `(n, 4)`."""
    return (normal(n, 4),)


def index(n: int) -> tuple[np.ndarray, ...]:
    """An array `(n, 4)` and indices, some out of range."""
    return normal(n, 4), np.array([0, -1, 2, 99, -99, 1], dtype=np.int32)


CASES = [
    Case("flatten", lambda x: x.reshape(-1), one, N, has=("Reshape",), only=True),
    Case("reshape", lambda x: x.reshape(x.shape[0], 2, 2), one, N, has=("Reshape",), only=True),
    Case(
        "reshape of two names",
        lambda x: x.reshape(-1, 2, x.shape[1]),
        lambda n: (normal(2 * n, 3),),
    ),
    Case("transpose", jnp.transpose, one, N, has=("Transpose",), only=True),
    Case("squeeze", lambda x: x[:, :1].squeeze(1), one, N),
    Case("flip", lambda x: jnp.flip(x, (0, 1)), one, N, has=("Slice",), only=True),
    Case("roll", lambda x: jnp.roll(x, 1, 0), one, N),
    Case("concatenate", lambda x: jnp.concatenate([x, x[:0], x * 2], 0), one, N),
    Case("stack", lambda x: jnp.stack([x, -x], 1), one, N),
    Case("tile", lambda x: jnp.tile(x, (2, 3)), one, N),
    Case("broadcast result", lambda x: jnp.broadcast_to(x[:, :1], (x.shape[0], 3)), one, N),
    Case("arange", lambda x: jnp.arange(x.shape[0]) + x[:, 0].astype(jnp.int32), one, N),
    Case("iota", lambda x: lax.broadcasted_iota(jnp.float32, x.shape, 1) * x, one, N),
    Case("eye", lambda x: jnp.eye(x.shape[0], dtype=x.dtype) @ x, one, N),
    Case("tril", lambda x: jnp.tril(x[:, :, None] * x[:, None]), one, N),
    Case("slice", lambda x: x[:, 1:3], one, N, has=("Slice",), only=True),
    Case("strided slice", lambda x: x[::2, ::-1], one, N),
    *(
        Case(f"x[{name}]", cut, one, N, has=("Slice",), only=True)
        for name, cut in {
            "1:": lambda x: x[1:],
            ":-1": lambda x: x[:-1],
            "1:-1": lambda x: x[1:-1],
            "2:-1": lambda x: x[2:-1],
            ":3": lambda x: x[:3],
            "-3:": lambda x: x[-3:],
            "::2": lambda x: x[::2],
            "1::2": lambda x: x[1::2],
            "::-1": lambda x: x[::-1],
        }.items()
    ),
    Case("x[::-2]", lambda x: x[::-2], one, N, has=("Slice",)),
    Case("last row", lambda x: x[-1], one, N, has=("Slice", "Reshape"), only=True),
    Case("halves", lambda x: (x[: x.shape[0] // 2], x[x.shape[0] // 2 :]), one, N),
    Case("every third, late", lambda x: x[2::3], one, N),
    Case("dynamic slice", lambda x: lax.dynamic_slice_in_dim(x, x.shape[0] - 1, 1), one, N),
    Case("slice to the end", lambda x: x[: x.shape[0]], one, N),
    Case("slice by size", lambda x: x.reshape(-1)[: 2 * x.shape[0] - 1], one, N),
    Case("pad", lambda x: lax.pad(x, 1.5, ((1, 2, 0), (0, 1, 0))), one, N),
    Case("pad between", lambda x: lax.pad(x, 0.0, ((0, 1, 2), (2, 0, 1))), one, N),
    Case("pad negative", lambda x: lax.pad(x, 0.0, ((1, -1, 0), (-1, -2, 1))), one, N),
    Case(
        "dynamic_slice",
        lambda x, i: lax.dynamic_slice(x, (i, i), (1, 2)),
        lambda n: (normal(n, 4), np.int32(9)),
        ({0: "n"}, {}),
    ),
    Case(
        "dynamic_slice low",
        lambda x, i: lax.dynamic_slice(x, (i, 1), (1, 2)),
        lambda n: (normal(n, 4), np.int32(-9)),
        ({0: "n"}, {}),
    ),
    Case(
        "dynamic_index", lambda x, i: x[i], lambda n: (normal(n, 4), np.int32(-1)), ({0: "n"}, {})
    ),
    Case(
        "update row",
        lambda x, i: x.at[i].set(7.0),
        lambda n: (normal(n, 4), np.int32(0)),
        ({0: "n"}, {}),
    ),
    Case(
        "update slice",
        lambda x, i: lax.dynamic_update_slice(x, x[:1, :2] * 3, (i, i)),
        lambda n: (normal(n, 4), np.int32(3)),
        ({0: "n"}, {}),
    ),
    Case("take", lambda x, i: x[i], index, ({0: "n"}, {0: "k"})),
    Case("take columns", lambda x, i: jnp.take(x, i, axis=1, mode="clip"), index, ({0: "n"}, {})),
    Case(
        "take filled", lambda x, i: x.at[i].get(mode="fill", fill_value=-5.0), index, ({0: "n"}, {})
    ),
    Case("take wrapped", lambda x, i: jnp.take(x, i, axis=0, mode="wrap"), index),
    Case("take pairs", lambda x: x[jnp.array([0, 0]), jnp.array([3, 1])], one, N),
    Case("take along", lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), one, N),
    Case(
        "windows",
        lambda x: jax.vmap(lambda i: lax.dynamic_slice(x, (0, i), (1, 2)))(jnp.array([0, 1, 9])),
        one,
        N,
    ),
    Case("batched take", lambda x: jax.vmap(lambda r: r[jnp.array([2, 0])])(x), one, N),
    Case("middle axis", lambda x: x.reshape(-1, 2, 2)[:, jnp.array([1, 0, 1])], one, N),
    Case("set", lambda x, i: x.at[i].set(1.0), index, ({0: "n"}, {})),
    Case("add", lambda x, i: x.at[i].add(2.0), index, ({0: "n"}, {0: "k"})),
    Case("multiply", lambda x, i: x.at[i, 1].multiply(2.0), index, ({0: "n"}, {})),
    Case("min", lambda x, i: x.at[:, i % 4].min(0.0), index, ({0: "n"}, {})),
    Case("max", lambda x, i: x.at[i].max(0.0, mode="drop"), index, ({0: "n"}, {})),
    Case("set clipped", lambda x, i: x.at[i[:3]].set(3.0, mode="clip"), index, ({0: "n"}, {})),
    Case("set block", lambda x: x.at[:, 1:3].set(-1.0), one, N),
    Case("set strided", lambda x: x.at[:, ::2].add(x[:, ::2]), one, N),
    Case("set bool", lambda x: (x > 0).at[:, 0].set(True), one, N),
    Case(
        "segment_sum", lambda x: jax.ops.segment_sum(x, jnp.zeros(x.shape[0], jnp.int32), 3), one, N
    ),
    Case("one_hot", lambda x: jax.nn.one_hot(x[:, 0].astype(jnp.int32), 3), one, N),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_static(case: Case) -> None:
    check_static(case)


@pytest.mark.parametrize("case", symbolic(CASES), ids=str)
def test_symbolic(case: Case) -> None:
    check_symbolic(case)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16", "bool"])
def test_scatter_of_other_types(dtype: str) -> None:
    place = np.array([0, 3, 0, 9], dtype=np.int32)

    def add(x: jax.Array) -> tuple[jax.Array, ...]:
        update = x[:4]
        return x.at[place].set(update), x.at[place].max(update)

    check_static(Case(dtype, add, lambda n: (whole(n).astype(dtype),)))


def scattered(combine: Any) -> Any:
    """Rows changed by a computation of their own, at places some of which do not fit."""
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )

    def function(x: jax.Array) -> Any:
        places = jnp.array([[2], [0], [2], [99], [-1]], jnp.int32)
        return lax.scatter_apply(x, places, combine, numbers, update_shape=(5, 4), mode="drop")

    return function


def numbers_of_two_parts(n: int) -> tuple[np.ndarray, ...]:
    """Complex arrays `(n + 2, 4)` and `(4, 4)`, with equal real parts among them."""
    x = np.round(normal(n + 2, 4)) + 1j * normal(n + 2, 4, seed=1)
    updates = np.round(normal(4, 4, seed=2)) + 1j * normal(4, 4, seed=3)
    return x.astype(np.complex64), updates.astype(np.complex64)


PLACES = np.array([2, 0, 2, 77], np.int32)
IN_TURN = [
    Case("apply", scattered(lambda v: v * 2 + 1), lambda n: (normal(n + 3, 4),), N),
    Case("apply a constant", scattered(lambda v: 7.0), lambda n: (normal(n + 3, 4),), N),
    Case("apply ints", scattered(lambda v: ~v), lambda n: (np.ones((n + 3, 4), np.uint16),), N),
    *(
        Case(
            f"{word} of two parts",
            lambda x, u, _w=word: getattr(x.at[PLACES], _w)(u, mode="drop"),
            numbers_of_two_parts,
            ({0: "n"}, {}),
        )
        for word in ("multiply", "min", "max")
    ),
    Case(
        "columns of two parts",
        lambda x, u: x.at[:, PLACES].multiply(u[0]),
        numbers_of_two_parts,
        ({0: "n"}, {}),
    ),
    Case(
        "whole of two parts",
        lambda x, u: lax.scatter_mul(
            x, jnp.zeros((0,), "i4"), x + 1, lax.ScatterDimensionNumbers((0, 1), (), ())
        ),
        numbers_of_two_parts,
        ({0: "n"}, {}),
    ),
]


@pytest.mark.parametrize("case", IN_TURN, ids=str)
def test_scatter_in_turn(case: Case) -> None:
    check_static(case)
    check_symbolic(case)


@pytest.mark.parametrize("kind", ["scatter_mul", "scatter_max"])
def test_short_windows_of_complex_numbers(kind: str) -> None:
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )

    def function(x: jax.Array, updates: jax.Array) -> jax.Array:
        return getattr(lax, kind)(x, jnp.array([[0], [2], [0]]), updates, numbers)

    x, updates = normal(10, 5) + 1j, normal(3, 3, seed=1) * 1j
    check_static(Case(kind, function, lambda n: (x.astype("c8"), updates.astype("c8"))))


def test_convert_saturates() -> None:
    values = np.array([0.0, -1.5, 2.5, 300.0, -300.0, 3e9, -3e9, 1e20, np.inf, -np.inf, np.nan])

    def casts(x: jax.Array) -> list[jax.Array]:
        names = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "bool", "float16")
        return [x.astype(name) for name in names]

    check_static(Case("casts", casts, lambda n: (values.astype(np.float32),)))


@pytest.mark.parametrize("kind", ["uint32", "int32", "uint16", "uint8"])
def test_bits_of_floats(kind: str) -> None:
    edges = [0.0, -0.0, 1.0, -1.5, 3.4e38, 1e-45, -1e-40, 1.1754944e-38, np.inf, -np.inf, 0.1]
    values = np.array(edges, dtype=np.float32)
    check_static(Case("bits", lambda x: lax.bitcast_convert_type(x, kind), lambda n: (values,)))


def test_floats_of_bits() -> None:
    values = np.array([0, 1, 2**31, 0x3F800000, 0x7F800000, 0xFF7FFFFF, 0x00800000, 77], np.uint32)
    case = Case(
        "floats",
        lambda x: lax.bitcast_convert_type(x, jnp.float32),
        lambda n: (values,),
        tolerance=(0.0, 0.0),
    )
    check_static(case)


@pytest.mark.parametrize("kind", ["scatter", "scatter_add", "scatter_min"])
def test_windows_shorter_than_the_operand(kind: str) -> None:
    x, updates = normal(10, 5), normal(3, 3, seed=1)
    numbers = jax.lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )

    def function(x: jax.Array, updates: jax.Array) -> jax.Array:
        places = jnp.array([[0], [2], [1]])
        return getattr(jax.lax, kind)(x, places, updates, numbers)

    case = Case(kind, function, lambda n: (x, updates))
    check_static(case)


def test_sizes_at_computed_starts_stay_known() -> None:
    def function(x: jax.Array, i: jax.Array) -> tuple[jax.Array, jax.Array]:
        block = lax.dynamic_slice(x, (0, i), (x.shape[0], 2))
        return block, lax.dynamic_update_slice(x, block[:, :1] * 2, (0, i))

    model = to_onnx(function, (normal(3, 8), np.int32(4)), dynamic_shapes=({0: "n"}, {}))
    shapes = [
        [d.dim_param or d.dim_value for d in output.type.tensor_type.shape.dim]
        for output in model.graph.output
    ]
    assert shapes == [["n", 2], ["n", 8]]
