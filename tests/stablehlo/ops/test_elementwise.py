"""Arithmetic, functions, comparisons and logic, against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo as hlo

from tests.stablehlo.jax_cases import Case, check_static, check_symbolic, normal, run, whole
from yobx.jax import to_onnx

N = ({0: "n"},)
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, -3e30, np.inf, -np.inf, np.nan])
INTS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


def unary(name: str, function: Callable[..., Any], low: float = -3, high: float = 3) -> Case:
    """A function of one array, on a range."""
    return Case(
        name,
        function,
        lambda n: (np.linspace(low, high, 4 * n, dtype=np.float32).reshape(n, 4),),
        N,
    )


UNARY = [
    unary("abs", jnp.abs),
    unary("neg", jnp.negative),
    unary("exp", jnp.exp),
    unary("expm1", jnp.expm1),
    unary("log", jnp.log, 0.01, 9),
    unary("log1p", jnp.log1p, -0.9, 9),
    unary("sqrt", jnp.sqrt, 0, 9),
    unary("rsqrt", lax.rsqrt, 0.1, 9),
    unary("cbrt", jnp.cbrt),
    unary("sin", jnp.sin),
    unary("cos", jnp.cos),
    unary("tan", jnp.tan, -1.4, 1.4),
    unary("asin", jnp.arcsin, -1, 1),
    unary("acos", jnp.arccos, -1, 1),
    unary("atan", jnp.arctan),
    unary("sinh", jnp.sinh),
    unary("cosh", jnp.cosh),
    unary("tanh", jnp.tanh),
    unary("asinh", jnp.arcsinh),
    unary("acosh", jnp.arccosh, 1, 9),
    unary("atanh", jnp.arctanh, -0.9, 0.9),
    unary("logistic", lax.logistic),
    unary("erf", lax.erf),
    unary("erfc", lax.erfc),
    unary("erf_inv", lax.erf_inv, -0.95, 0.95),
    unary("lgamma", lax.lgamma, 0.1, 9),
    unary("digamma", lax.digamma, 0.6, 1.3),
    unary("floor", jnp.floor),
    unary("ceil", jnp.ceil),
    unary("round even", lambda x: jnp.round(x * 2) / 2),
    unary("round away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)),
    unary("square", jnp.square),
    unary("integer_pow", lambda x: x**5),
    unary("softplus", jax.nn.softplus),
]


@pytest.mark.parametrize("case", UNARY, ids=str)
def test_unary(case: Case) -> None:
    check_static(case)
    check_symbolic(case)


@pytest.mark.parametrize(
    "function", [jnp.sign, jnp.abs, jnp.isfinite, jnp.isnan, jnp.isinf, lax.round, jnp.tanh]
)
def test_unary_on_edges(function: Callable[..., Any]) -> None:
    check_static(Case("edges", function, lambda n: (EDGES.astype(np.float32),)))


@pytest.mark.parametrize(
    "function",
    [
        *(jnp.maximum, jnp.minimum, jnp.add, jnp.multiply, jnp.divide, jnp.arctan2, lax.rem),
        *(lax.eq, lax.ne, lax.lt, lax.ge, jnp.logaddexp),
    ],
)
def test_binary_on_edges(function: Callable[..., Any]) -> None:
    left, right = np.meshgrid(EDGES, EDGES)
    case = Case("edges", function, lambda n: (left.astype(np.float32), right.astype(np.float32)))
    check_static(case)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize(
    "function",
    [
        *(lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.lt, lax.eq),
        *(lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.shift_left),
        *(lax.shift_right_logical, lax.shift_right_arithmetic),
    ],
)
def test_integers(function: Callable[..., Any], dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.min + 1, 0, 1, 2, 7, limits.max, -1 & limits.max], dtype)
    left, right = np.meshgrid(values, values)
    check_static(Case("integers", function, lambda n: (left, right)))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("function", [jnp.abs, jnp.sign, lax.population_count, lax.clz, jnp.invert])
def test_integer_functions(function: Callable[..., Any], dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 0, 1, 2, 7, limits.max], dtype)
    check_static(Case("integers", function, lambda n: (values,)))


BINARY = [
    Case("pow", jnp.power, lambda n: (np.abs(normal(n, 3)), normal(n, 3, seed=1)), N * 2),
    Case("clip", lambda x: jnp.clip(x, -0.5, 0.25), lambda n: (normal(n, 3),), N),
    Case(
        "where",
        lambda c, x: jnp.where(c, x, 0.0),
        lambda n: (whole(n, 3) > 0, normal(n, 3)),
        N * 2,
    ),
    Case("where bool", lambda c: jnp.where(c, ~c, c), lambda n: (whole(n) > 0,), N),
    Case(
        "select_n",
        lambda i, x: lax.select_n(i, x, -x, x * 2),
        lambda n: (whole(n, low=0, high=3), normal(n)),
        N * 2,
    ),
    Case("logic", lambda a, b: (a & b) | (a ^ ~b), lambda n: (whole(n) > 0, whole(n) > 4), N * 2),
    Case("compare bool", lax.gt, lambda n: (whole(n) > 0, whole(n) > 4), N * 2),
    Case("nextafter", jnp.nextafter, lambda n: (normal(n), normal(n, seed=4))),
]


@pytest.mark.parametrize("case", BINARY, ids=str)
def test_binary(case: Case) -> None:
    check_static(case)
    if case.dynamic:
        check_symbolic(case)


FLOATS = {
    "exp": jnp.exp,
    "log1p": jnp.log1p,
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "cbrt": jnp.cbrt,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "cosh": jnp.cosh,
    "asin": jnp.arcsin,
    "atan": jnp.arctan,
    "tan": jnp.tan,
}


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", FLOATS)
def test_other_floats(name: str, dtype: str) -> None:
    values = np.linspace(-0.9, 0.9, 11).astype(dtype)
    with jax.enable_x64(True):
        check_static(Case(name, FLOATS[name], lambda n: (values,)))


def test_broadcasts_are_not_emitted() -> None:
    case = Case(
        "bias",
        lambda x, b: (x + b) * 2.0 - b[:1],
        lambda n: (normal(n, 4), normal(4)),
        ({0: "n"}, {}),
        has=("Add", "Mul", "Slice", "Sub"),
        only=True,
    )
    check_static(case)
    check_symbolic(case)


def test_an_outer_sum_needs_no_expand() -> None:
    case = Case(
        "outer",
        lambda x: x[:, None] + x[None, :],
        lambda n: (normal(n),),
        N,
        has=("Unsqueeze", "Add"),
        only=True,
    )
    check_static(case)
    check_symbolic(case)


def _power() -> Callable[..., Any]:
    """The operation on integers, which no function of JAX binds as such."""
    primitive = Primitive("integer_power_of_hlo")
    primitive.def_abstract_eval(lambda x, y: x)
    mlir.register_lowering(primitive, lambda ctx, x, y: [hlo.power(x, y)])
    return primitive.bind


@pytest.mark.parametrize("known", [True, False], ids=["constant", "input"])
@pytest.mark.parametrize("dtype", [*INTS, "int64", "uint64"])
def test_integer_powers_read_six_bits_of_the_exponent(dtype: str, known: bool) -> None:
    bind = _power()
    exponents = np.array([0, 1, 2, 7, 31, 62, 63, 64, 65, 66, 100, 127], dtype)
    if not dtype.startswith("u"):
        exponents = np.concatenate([exponents, np.array([-1, -2, -63, -64, -65], dtype)])
    bases = np.array([0, 1, 2, 3, 5] + [-1, -3] * (not dtype.startswith("u")), dtype)
    x, y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(bases[:, None], exponents))
    with jax.enable_x64(True):
        function = jax.jit((lambda a: bind(a, jnp.asarray(y))) if known else bind)
        args = (x,) if known else (x, y)
        want = np.asarray(function(*args))
        (got,) = run(to_onnx(function, args, dynamic_shapes={}), args)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("exponent", [3, 63, 64, 67])
def test_integer_powers_of_one_exponent(exponent: int) -> None:
    bind = _power()
    x = np.array([0, 1, 2, 3, -1, -5], np.int32)
    function = jax.jit(lambda a: bind(a, jnp.full((6,), exponent, jnp.int32)))
    (got,) = run(to_onnx(function, (x,), dynamic_shapes={}), (x,))
    np.testing.assert_array_equal(got, np.asarray(function(x)))
