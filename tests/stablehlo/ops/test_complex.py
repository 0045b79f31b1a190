"""Complex numbers, which travel as pairs of real tensors, against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import Case, agree, check_static, check_symbolic, run, symbolic
from yobx.errors import UnsupportedOpError
from yobx.jax import to_onnx

N = ({0: "n"},)
LOOSE = (2e-5, 2e-5)


def numbers(*shape: int, seed: int = 0, dtype: Any = np.complex64) -> np.ndarray:
    """Complex numbers around zero."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def one(n: int) -> tuple[np.ndarray, ...]:
    """An array `(n, 4)`."""
    return (numbers(n, 4),)


def two(n: int) -> tuple[np.ndarray, ...]:
    """Arrays `(n, 4)` and `(4,)`."""
    return numbers(n, 4), numbers(4, seed=1)


NC = ({0: "n"}, {})
ARITHMETIC = [
    Case("add", lambda x, y: x + y, two, NC),
    Case("subtract", lambda x, y: x - 2 * y, two, NC),
    Case("multiply", lambda x, y: x * y, two, NC),
    Case("divide", lambda x, y: x / y, two, NC),
    Case("power", lambda x, y: x**y, two, NC, tolerance=LOOSE),
    Case("integer power", lambda x: x**3, one, N),
    Case("negative power", lambda x: x**-2, one, N, tolerance=LOOSE),
    Case("negate", lambda x: -x, one, N),
    Case("conjugate", jnp.conj, one, N),
    Case("parts", lambda x: (x.real, x.imag), one, N),
    Case("of parts", lambda x: lax.complex(x.real, -x.real), one, N),
    Case("abs", jnp.abs, one, N),
    Case("angle", jnp.angle, one, N),
    Case("sign", jnp.sign, one, N),
    Case("equal", lambda x, y: (x == y, x != x.at[0].set(1j)), two, NC),
    Case("to complex", lambda x: x.real.astype(jnp.complex64) * 1j, one, N),
    Case("where", lambda x: jnp.where(x.real > 0, x, 1j), one, N),
    Case("constant", lambda x: x + np.array([1, 2j, -1j, 0], np.complex64), one, N),
    Case("sort", lambda x: lax.sort(jnp.round(x), dimension=0), one, N),
    Case(
        "sort with values",
        lambda x: lax.sort((jnp.round(x), x, x.real), dimension=1, num_keys=2),
        one,
        N,
    ),
    Case("clamp", lambda x, y: lax.clamp(jnp.round(y) + 0 * x, jnp.round(x), y + 0 * x), two, NC),
    Case("bits", lambda x: lax.bitcast_convert_type(x, jnp.complex64) + 1, one, N),
    Case("running sum", lambda x: lax.cumsum(x, 0), one, N),
    Case("running product", lambda x: lax.cumprod(x, 0, reverse=True), one, N, tolerance=LOOSE),
    Case("running maximum", lambda x: lax.cummax(jnp.round(x), 0), one, N),
    Case("one part repeated", lambda x: x * np.array([1j, 2j, 3j, 4j], np.complex64), one, N),
]
FUNCTIONS = [
    Case(name, getattr(jnp, name), one, N, tolerance=LOOSE)
    for name in (
        "exp expm1 log log1p sqrt sin cos tan sinh cosh tanh "
        "arcsin arccos arctan arcsinh arccosh arctanh"
    ).split()
]
FUNCTIONS += [
    Case("rsqrt", lax.rsqrt, one, N, tolerance=LOOSE),
    Case("logistic", lax.logistic, one, N, tolerance=LOOSE),
]
MOVING = [
    Case("transpose", lambda x: x.T[::-1], one, N),
    Case("reshape", lambda x: jnp.concatenate([x, 2 * x]).reshape(-1, 2), one, N),
    Case("gather", lambda x: x[:, jnp.array([2, 0])], one, N),
    Case("slice", lambda x: x[:, 1:3], one, N),
    Case("pad", lambda x: jnp.pad(x, ((1, 0), (0, 2)), constant_values=1j), one, N),
    Case("update", lambda x: x.at[0, 1].set(3j).at[0, 2].add(1 - 1j), one, N),
    Case("roll", lambda x: jnp.roll(x, 1, axis=1), one, N),
]
COMPUTING = [
    Case("sum", lambda x: (x.sum(0), x.sum()), one, N, tolerance=LOOSE),
    Case("mean", lambda x: x.mean(1), one, N),
    Case("product", lambda x: x.prod(1), one, N, tolerance=LOOSE),
    Case("cumsum", lambda x: jnp.cumsum(x, 1), one, N),
    Case("cumprod", lambda x: jnp.cumprod(x, 1), one, N, tolerance=LOOSE),
    Case("maximum", lambda x: x.max(1), one, N),
    Case("matmul", lambda x: x @ x.T, one, N, tolerance=LOOSE),
    Case("vdot", lambda x: jnp.vdot(x, x), one, N, tolerance=LOOSE),
    Case("einsum", lambda x: jnp.einsum("ab,cb->ac", x, x), one, N, tolerance=LOOSE),
    Case("fft", jnp.fft.fft, one, N, tolerance=LOOSE),
    Case("ifft", jnp.fft.ifft, one, N, tolerance=LOOSE),
    Case("fft2", lambda x: jnp.fft.fft2(x.reshape(-1, 2, 2)), one, N, tolerance=LOOSE),
    Case("rfft", lambda x: jnp.fft.rfft(x.real), one, N, tolerance=LOOSE),
    Case("irfft", lambda x: jnp.fft.irfft(x), one, N, tolerance=LOOSE),
    Case("angle of rfft", lambda x: jnp.angle(jnp.fft.rfft(x.real)[:, ::2]), one, N),
    Case(
        "loop", lambda x: lax.fori_loop(0, 3, lambda i, c: c * 1j + x, x), one, N, tolerance=LOOSE
    ),
    Case("branch", lambda x: lax.cond(x.real.sum() > 0, lambda: x, lambda: x.conj()), one, N),
]
CASES = [*ARITHMETIC, *FUNCTIONS, *MOVING, *COMPUTING]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_static(case: Case) -> None:
    check_static(case)


@pytest.mark.parametrize("case", symbolic(CASES), ids=str)
def test_symbolic(case: Case) -> None:
    check_symbolic(case)


def test_double_precision() -> None:
    with jax.enable_x64(True):
        case = Case("x64", lambda x: jnp.sin(x) / (1 + x @ x.T), lambda n: (numbers(n, n),))
        args = (numbers(4, 4, dtype=np.complex128),)
        agree(case, run(to_onnx(case.function, args, dynamic_shapes={}), args), args)


def test_cut_along_the_negative_axis() -> None:
    x = np.array([-4 + 0j, complex(-4, -0.0), -1j, 0, 4], np.complex64)
    case = Case("cut", lambda x: (jnp.sqrt(x), jnp.log(x + 9)), lambda n: (x,))
    agree(case, run(to_onnx(case.function, (x,), dynamic_shapes={}), (x,)), (x,))


def test_no_overflow_on_the_way() -> None:
    x = np.array([3e30 + 4e30j, 80j, 80, 1e-30], np.complex64)
    case = Case("large", lambda x: (jnp.abs(x), x / (2 * x), jnp.tanh(x)), lambda n: (x,))
    agree(case, run(to_onnx(case.function, (x,), dynamic_shapes={}), (x,)), (x,))


def test_inputs_and_outputs_are_pairs() -> None:
    model = to_onnx(lambda x: x * 2, one(5))
    kinds = [v.type.tensor_type for v in (model.graph.input[0], model.graph.output[0])]
    assert [k.elem_type for k in kinds] == [1, 1]
    assert [d.dim_value or d.dim_param for d in kinds[0].shape.dim] == ["batch", 4, 2]
    assert [d.dim_value or d.dim_param for d in kinds[1].shape.dim] == ["batch", 4, 2]


def test_what_has_no_pairs_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match=r"geev(.|\n)*not symmetric take an iteration"):
        to_onnx(jnp.linalg.eig, (np.eye(3, dtype=np.complex64),), dynamic_shapes={})


@pytest.mark.parametrize("length", [33, 7, 8])
def test_inverse_transforms_keep_every_digit_of_float64(length: int) -> None:
    both = numbers(2, length, dtype=np.complex128)
    half = both[:, : length // 2 + 1]
    with jax.enable_x64(True):
        exact = (1e-13, 1e-14)
        inverse = Case("ifft", lambda x: lax.fft(x, "IFFT", (length,)), lambda n: (both,), N, exact)
        real = Case("irfft", lambda x: lax.fft(x, "IRFFT", (length,)), lambda n: (half,), N, exact)
        whole = Case("sizes", jnp.fft.ifft, lambda n: (both.T,), N, exact)
        for case in (inverse, real, whole):
            check_static(case)
            model = to_onnx(case.function, case.make(2), dynamic_shapes=N)
            agree(case, run(model, case.make(2)), case.make(2))


@pytest.mark.parametrize("length", [6, 17, 65, 100])
def test_transforms_of_any_length_are_as_exact_as_jax(length: int) -> None:
    both = numbers(3, length, dtype=np.complex128)
    half = both[:, : length // 2 + 1]
    functions = {
        "FFT": (both, np.fft.fft),
        "IFFT": (both, np.fft.ifft),
        "RFFT": (both.real.copy(), np.fft.rfft),
        "IRFFT": (half, lambda x: np.fft.irfft(x, length)),
    }
    for kind, (x, function) in functions.items():
        with jax.enable_x64(True):
            model = to_onnx(lambda a, k=kind: lax.fft(a, k, (length,)), (x,), dynamic_shapes={})
        want = function(x.astype(np.longdouble if x.dtype.kind == "f" else np.clongdouble))
        pairs = np.stack([x.real, x.imag], axis=-1) if x.dtype.kind == "c" else x
        (got,) = run(model, (pairs,))
        got = got[..., 0] + 1j * got[..., 1] if want.dtype.kind == "c" else got
        assert np.abs(got - want).max() <= 8 * np.finfo(np.float64).eps * np.abs(want).max()
