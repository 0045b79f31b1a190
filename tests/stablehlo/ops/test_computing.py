"""Products, convolutions, reductions, windows, sorting, against JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import (
    Case,
    agree,
    check_static,
    check_symbolic,
    normal,
    run,
    symbolic,
    whole,
)
from yobx.jax import to_onnx

N = ({0: "n"},)
LOOSE = (2e-5, 2e-6)


def one(n: int) -> tuple[np.ndarray, ...]:
    """An array `(n, 4)`."""
    return (normal(n, 4),)


def image(n: int) -> tuple[np.ndarray, ...]:
    """An image batch `(n, 8, 7, 3)` and a kernel `(3, 2, 3, 6)`."""
    return normal(n, 8, 7, 3), normal(3, 2, 3, 6, seed=1)


def conv(**keywords: object):
    """A convolution of NHWC data."""

    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        given = {"window_strides": (1, 1), "padding": "SAME", **keywords}
        return lax.conv_general_dilated(x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **given)

    return function


NC = ({0: "n"}, {})
PRODUCTS = [
    Case("matmul", lambda x: x @ x.T, one, N, has=("Transpose", "MatMul"), only=True),
    Case(
        "dense",
        lambda x, w: x @ w,
        lambda n: (normal(n, 4), normal(4, 3)),
        NC,
        has=("MatMul",),
        only=True,
    ),
    Case("vector", lambda x: x @ x[0], one, N),
    Case("inner", lambda x: jnp.vdot(x, x), one, N),
    Case("outer", lambda x: jnp.outer(x[:, 0], x[:, 1]), one, N),
    Case(
        "batched",
        lambda x: jnp.einsum("bij,bjk->bik", x, x),
        lambda n: (normal(n, 3, 3),),
        N,
        has=("MatMul",),
        only=True,
    ),
    Case(
        "heads", lambda x: jnp.einsum("nthd,nshd->nhts", x, x), lambda n: (normal(n, 3, 2, 4),), N
    ),
    Case(
        "contract two", lambda x: jnp.einsum("abc,dbc->ad", x, x), lambda n: (normal(n, 3, 2),), N
    ),
    Case("batched vector", lambda x: jnp.einsum("bi,bi->b", x, x), one, N),
    Case("batched outer", lambda x: jnp.einsum("bi,bj->bij", x, x), one, N),
    Case("integers", lambda x: x @ x.T, lambda n: (whole(n, 4),), N),
    Case(
        "small integers",
        lambda x: jnp.dot(x, x.T, preferred_element_type=jnp.int32),
        lambda n: (whole(n, 4, dtype=np.int8),),
        N,
    ),
]
CONVOLUTIONS = [
    Case("same", conv(), image, NC, LOOSE),
    Case("valid strided", conv(window_strides=(2, 3), padding="VALID"), image, NC, LOOSE),
    Case("dilated", conv(rhs_dilation=(2, 1)), image, NC, LOOSE),
    Case("explicit pads", conv(padding=((2, 0), (1, 3))), image, NC, LOOSE),
    Case("transposed", conv(lhs_dilation=(2, 2), padding=((1, 2), (1, 1))), image, NC, LOOSE),
    Case(
        "spread out",
        conv(lhs_dilation=(2, 1), window_strides=(1, 2), padding=((1, 1), (0, 1))),
        image,
        NC,
        LOOSE,
    ),
    Case(
        "grouped",
        conv(feature_group_count=3),
        lambda n: (normal(n, 8, 7, 3), normal(3, 2, 1, 6)),
        NC,
        LOOSE,
    ),
    Case(
        "batch groups",
        conv(batch_group_count=2),
        lambda n: (normal(4, 8, 7, 3), normal(3, 2, 3, 6)),
        None,
        LOOSE,
    ),
    Case(
        "one axis",
        lambda x, w: lax.conv(x, w, (1,), "SAME"),
        lambda n: (normal(n, 3, 9), normal(5, 3, 3)),
        NC,
        LOOSE,
    ),
]
REDUCTIONS = [
    Case("sum", lambda x: x.sum(1), one, N, LOOSE, has=("ReduceSum",), only=True),
    Case("mean", lambda x: x.mean(0), one, N, LOOSE),
    Case("prod", lambda x: x.prod(1), one, N),
    Case("max", lambda x: x.max(1), one, N),
    Case("min over all", lambda x: x.min(), one, N),
    Case("any and all", lambda x: ((x > 0).any(1), (x > 0).all(0)), one, N),
    Case("initial", lambda x: jnp.max(x, 0, initial=0.5), one, N),
    Case("argmax", lambda x: jnp.argmax(x, 1), one, N),
    Case("argmin", lambda x: jnp.argmin(x, 0), one, N),
    Case("argmax of integers", lambda x: jnp.argmax(x, 1), lambda n: (whole(n, 4),), N),
    Case(
        "custom",
        lambda x: lax.reduce(x, 0.0, lambda a, b: jnp.sqrt(a * a + b * b), (1,)),
        one,
        N,
        LOOSE,
    ),
    Case(
        "small integers",
        lambda x: x.sum(0, dtype=jnp.int8),
        lambda n: (whole(n, 4, dtype=np.int8, high=100),),
        N,
    ),
    Case("logsumexp", lambda x: jax.nn.logsumexp(x, 1), one, N, LOOSE),
    Case("variance", lambda x: x.var(1), one, N, LOOSE),
    Case("softmax", jax.nn.softmax, one, N, has=("Softmax",), only=True),
    Case(
        "log_softmax",
        lambda x: jax.nn.log_softmax(x, 0),
        one,
        N,
        LOOSE,
        has=("LogSoftmax",),
        only=True,
    ),
    Case(
        "gelu", lambda x: jax.nn.gelu(x, approximate=False), one, N, LOOSE, has=("Gelu",), only=True
    ),
    Case("gelu by tanh", jax.nn.gelu, one, N, LOOSE, has=("Gelu",), only=True),
]


def _odd(*shape: int) -> np.ndarray:
    """Numbers with some NaN and infinities among them."""
    x = normal(*shape)
    chance = np.random.default_rng(1).random(shape)
    x[chance < 0.1] = np.nan
    x[(chance > 0.8) & (chance < 0.9)] = -np.inf
    x[chance > 0.95] = np.inf
    return x


WINDOWS = [
    Case(
        "max pool",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"),
        lambda n: (normal(n, 8, 7, 3),),
        N,
        has=("MaxPool",),
    ),
    Case(
        "max pool of NaN and infinities",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"),
        lambda n: (_odd(n, 8, 7, 3),),
        N,
        has=("MaxPool",),
    ),
    *(
        Case(
            f"max pool of NaN and infinities, {title}",
            lambda x, _o=options, _d=dtype: lax.reduce_window(
                x.astype(_d), -np.inf, lax.max, (1, 3, 2, 1), **_o
            ),
            lambda n: (_odd(n, 8, 7, 3),),
            N,
            tolerance=(0.0, 0.0),
            has=("MaxPool", "Clip", "AveragePool", "Sub"),
        )
        for title, dtype, options in (
            ("apart", "float32", {"window_strides": (1, 3, 2, 1), "padding": "VALID"}),
            ("halves", "float16", {"window_strides": (1, 2, 2, 1), "padding": "SAME"}),
            (
                "dilated",
                "float32",
                {
                    "window_strides": (1, 1, 1, 1),
                    "padding": ((0, 0), (2, 0), (1, 1), (0, 0)),
                    "window_dilation": (1, 2, 3, 1),
                },
            ),
        )
    ),
    Case(
        "max pool of symbolic sides",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"),
        lambda n: (normal(2, n + 3, n, 3),),
        ({1: "m", 2: "n"},),
        has=("MaxPool",),
    ),
    Case(
        "sum pool of a symbolic side",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (3, 1), (2, 1), "SAME"),
        one,
        N,
        LOOSE,
    ),
    Case(
        "min pool of NaN and infinities",
        lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"),
        lambda n: (_odd(n, 8, 7, 3),),
        N,
    ),
    Case(
        "sum pool",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 2, 1), "VALID"),
        lambda n: (normal(n, 8, 7, 3),),
        N,
        LOOSE,
    ),
    Case(
        "dilated windows",
        lambda x: lax.reduce_window(
            x, 0.0, lax.add, (1, 2), (1, 1), ((0, 0), (1, 1)), window_dilation=(1, 2)
        ),
        one,
        N,
        LOOSE,
    ),
    Case("products", lambda x: lax.reduce_window(x, 1.0, lax.mul, (1, 3), (1, 1), "SAME"), one, N),
    Case(
        "min of integers",
        lambda x: lax.reduce_window(x, np.int32(99), lax.min, (1, 2), (1, 1), "SAME"),
        lambda n: (whole(n, 4),),
        N,
    ),
    Case(
        "gradient of a max pool",
        jax.grad(
            lambda x: (
                lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2), (1, 2, 2), "SAME") ** 2
            ).sum()
        ),
        lambda n: (normal(2, 7, 6),),
        None,
        LOOSE,
    ),
    Case(
        "gradient of a max pool of a batch",
        jax.grad(
            lambda x: (
                lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2), (1, 2, 2), "SAME") ** 2
            ).sum()
        ),
        lambda n: (normal(n, 7, 6),),
        N,
        LOOSE,
    ),
    Case(
        "gradient of a max pool along a symbolic axis",
        jax.grad(
            lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (3, 1), (2, 1), "VALID") ** 2).sum()
        ),
        lambda n: (normal(n + 3, 4),),
        N,
        LOOSE,
    ),
    Case(
        "windows of pairs",
        lambda x: lax.reduce_window(
            (x, x * 2),
            (0.0, 1.0),
            lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])),
            (1, 2),
            (1, 1),
            ((0, 0), (1, 0)),
        ),
        one,
        N,
        LOOSE,
    ),
    Case("cumsum", lambda x: jnp.cumsum(x, 0), one, N, LOOSE, has=("CumSum",), only=True),
    Case(
        "cumsum reversed",
        lambda x: lax.cumsum(x, 1, reverse=True),
        one,
        N,
        LOOSE,
        has=("CumSum",),
        only=True,
    ),
    Case("cumprod", lambda x: jnp.cumprod(x, 0), one, N, LOOSE),
    Case("cummax", lambda x: lax.cummax(x, 0), one, N),
    Case("cummin reversed", lambda x: lax.cummin(x, 0, reverse=True), one, N),
    Case("cumlogsumexp", lambda x: lax.cumlogsumexp(x, 0), one, N, LOOSE),
]
SORTS = [
    Case("sort", lambda x: jnp.sort(x, 0), one, N, has=("TopK",), only=True),
    Case("sort down", lambda x: -jnp.sort(-x, 1), one, N),
    Case("argsort", lambda x: jnp.argsort(x // 1, 1), one, N),
    Case("argsort down", lambda x: jnp.argsort(x // 1, 1, descending=True), one, N),
    Case("lexsort", lambda x: jnp.lexsort((x[:, 0], x[:, 1] // 1)), one, N),
    Case(
        "two keys", lambda x: lax.sort((x // 1, x[:, ::-1], x * 2), dimension=1, num_keys=2), one, N
    ),
    Case("top_k", lambda x: lax.top_k(x, 3), one, N, has=("TopK",)),
    Case("approximate top_k", lambda x: lax.approx_max_k(x, 2), one),
    Case("approximate least", lambda x: lax.approx_min_k(x, 2), one),
    Case("sort bool", lambda x: jnp.sort(x > 0, 1), one, N),
    Case("median", lambda x: jnp.median(x, 1), one, N),
]
CASES = [*PRODUCTS, *CONVOLUTIONS, *REDUCTIONS, *WINDOWS, *SORTS]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_static(case: Case) -> None:
    check_static(case)


@pytest.mark.parametrize("case", symbolic(CASES), ids=str)
def test_symbolic(case: Case) -> None:
    check_symbolic(case)


WITH_NAN = np.array([[1, np.nan, 3], [np.inf, 2, np.nan], [0.0, -0.0, -1], [np.nan] * 3])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x.max(1), x.min(0), x.sum(1)),
        lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 1)),
        lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1)),
        lambda x: jax.nn.softmax(x, 1),
        lambda x: lax.cummax(x, 1),
    ],
    ids=["reductions", "positions", "sorting", "softmax", "running"],
)
def test_nan(function: object) -> None:
    check_static(Case("nan", function, lambda n: (WITH_NAN.astype(np.float32),)))


def test_negative_padding_of_a_convolution_crops() -> None:
    # XLA itself reads outside the array here, so the reference crops first
    x, w = image(2)
    model = to_onnx(conv(padding=((-1, 1), (0, -2))), (x, w), dynamic_shapes={})
    cropped = np.pad(x[:, 1:, :-2], ((0, 0), (0, 1), (0, 0), (0, 0)))
    case = Case("cropped", conv(padding="VALID"), image, tolerance=LOOSE)
    agree(case, run(model, (x, w)), (cropped, w))


def test_a_window_larger_than_the_array_gives_nothing() -> None:
    x, w = normal(2, 2, 2, 3), normal(3, 3, 3, 4)
    check_static(Case("too large", conv(padding="VALID"), lambda n: (x, w)))


def _pool(init: float, combine: object, **keywords: object):
    """Windows of 5 with stride 2 over 4 elements, which lack less than a stride."""

    def function(x, w):
        return lax.reduce_window(x, init, combine, (1, 5, 1, 1), (1, 2, 1, 1), "VALID", **keywords)

    return function


def _mean(x, w):
    return _pool(0.0, lax.add)(x, w) / 5


@pytest.mark.parametrize(
    "function",
    [
        conv(padding="VALID"),
        conv(padding="VALID", rhs_dilation=(3, 1), window_strides=(2, 1)),
        conv(lhs_dilation=(2, 2), padding=((-3, 0), (1, 1)), rhs_dilation=(3, 1)),
        _pool(-np.inf, lax.max),
        _pool(0.0, lax.add),
        _mean,
    ],
    ids=["convolution", "dilated", "spread", "maximum", "sum", "mean"],
)
def test_a_window_larger_than_an_array_of_symbolic_size_gives_nothing(function: object) -> None:
    def make(n: int) -> tuple[np.ndarray, ...]:
        return normal(n, 4, 6, 3), normal(5, 2, 3, 4)

    assert 0 in function(*make(2)).shape
    check_symbolic(Case("too large", function, make, ({0: "n"}, {})))


def test_convolution_in_float64() -> None:
    with jax.enable_x64(True):
        x, w = (a.astype(np.float64) for a in image(2))
        check_static(Case("float64", conv(), lambda n: (x, w), tolerance=(1e-12, 1e-13)))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products_of_nothing(axis: int, *, reverse: bool) -> None:
    def function(x: jax.Array) -> jax.Array:
        return lax.cumprod(x, axis, reverse=reverse)

    onx = to_onnx(function, (normal(2, 3),), dynamic_shapes=({0: "n", 1: "m"},))
    for shape in ((3, 0), (0, 3), (0, 0), (1, 1), (4, 5)):
        x = normal(*shape)
        np.testing.assert_allclose(run(onx, (x,))[0], function(x), *LOOSE)
