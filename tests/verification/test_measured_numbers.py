"""Numbers of the tolerance table that no other test measures again.

Each is measured against float64 here, and must have some room and not much: a number that is too
small refuses right conversions, one that is ten times too wide proves nothing.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
import tensorflow as tf
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import yobx.tensorflow
from yobx.errors import ArgumentError
from yobx.jax import to_onnx
from yobx.lowering.resample import kernel_weights
from yobx.verification import check_conversion
from yobx.verification.factorisations import Values, equally_good
from yobx.verification.runner import Session
from yobx.verification.tolerances import load_tolerances

Array = NDArray[Any]
TABLE = load_tolerances()
ROW: dict[str, Any] = tomllib.loads(
    files("yobx.verification").joinpath("tolerances.toml").read_text(encoding="utf-8")
)["factorisation"]

# ---- factorisations ------------------------------------------------------------------------------


def needed(
    name: str, params: Any, operands: Sequence[Array], results: Sequence[Array], other: Any
) -> float:
    """The smallest factor with which every one of some results is accepted, within 5 %."""
    values = Values({f"v{i}": a for i, a in enumerate(other)})
    free = len(FREE.get(name, results))

    def accepted(factor: float) -> bool:
        found = equally_good(name, params, operands, results, values=values, factor=factor)
        kept = zip(found or (), results, strict=False)
        return sum(a is not b for a, b in kept) == free

    low, high = 2.0**-12, 64.0
    assert accepted(high), f"{name}: other factors"
    while high > 1.05 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if accepted(middle) else (middle, high)
    return high


#: Results that may differ, where not all may.
FREE = {"lu": [0]}
SOLVED = {
    "left_side": True,
    "lower": True,
    "transpose_a": False,
    "conjugate_a": False,
    "unit_diagonal": False,
}
KINDS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "eigh": (lambda a: jnp.linalg.eigh(a)[::-1], {"lower": True}),
    "svd": (lambda a: _turned(jnp.linalg.svd(a, full_matrices=False)), {}),
    "qr": (lambda a: jnp.linalg.qr(a), {}),
    "cholesky": (jnp.linalg.cholesky, {}),
    "lu": (jax.lax.linalg.lu, {}),
    "triangular_solve": (
        lambda a: jax.lax.linalg.triangular_solve(a, jnp.ones_like(a), left_side=True, lower=True),
        SOLVED,
    ),
}


def _turned(made: Any) -> Any:
    u, s, v = made
    return s, u, v


def _matrices(name: str, size: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((3, size, size)).astype(np.float32)
    if name == "eigh":
        return a + np.swapaxes(a, -1, -2)
    if name == "cholesky":
        return (a @ np.swapaxes(a, -1, -2) / size + np.eye(size, dtype=np.float32)).astype(a.dtype)
    return a + np.float32(4.0) * np.eye(size, dtype=np.float32) if "solve" in name else a


def measured_factor(name: str) -> float:
    """What right conversions of matrices of some sizes need."""
    function, params = KINDS[name]
    worst = 0.0
    for size in (1, 2, 5, 16, 40):
        a = _matrices(name, size, 0)
        model = to_onnx(function, (jnp.asarray(a),))
        (given,) = (value.name for value in model.graph.input)
        session = Session(model)
        for seed in range(4):
            a = _matrices(name, size, seed)
            results = [np.asarray(r) for r in jax.tree.leaves(function(jnp.asarray(a)))]
            operands = [a, np.ones_like(a)] if name == "triangular_solve" else [a]
            other = list(session.run({given: a}).values.values())
            worst = max(worst, needed(name, params, operands, results, other[::-1]))
    return worst


def test_the_factor_of_factorisations_has_room_and_not_much() -> None:
    seen = {name: measured_factor(name) for name in KINDS}
    worst = max(seen.values())
    assert worst <= 1.1 * ROW["measured"] <= 1.65 * worst, seen
    assert 1.5 * worst <= TABLE.factorisation <= 8.0 * worst, seen


# ---- Fourier transforms --------------------------------------------------------------------------


def _fourier(size: int, kind: str) -> onnx.ModelProto:
    attributes = {} if kind == "plain" else {kind: 1}
    parts = 1 if kind == "onesided" else 2
    axis = numpy_helper.from_array(np.array(1, np.int64), "axis")
    node = helper.make_node("DFT", ["x", "", "axis"], ["y"], **attributes)
    given, result = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", ["B", size, parts]), ("y", ["B", None, 2]))
    )
    graph = helper.make_graph([node], "fourier", [given], [result], [axis])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _error_of_fourier(size: int, kind: str) -> float:
    """Root mean square of the error, times the unit, steps and norm that the noise is told in."""
    session = Session(_fourier(size, kind))
    errors = []
    for seed in range(3):
        parts = 1 if kind == "onesided" else 2
        x = np.random.default_rng(seed).standard_normal((4, size, parts)).astype(np.float32)
        wide = x[..., 0].astype(np.float64) + (1j * x[..., 1] if parts == 2 else 0.0)
        made = {"onesided": np.fft.rfft, "inverse": np.fft.ifft, "plain": np.fft.fft}[kind](wide)
        truth = np.stack([made.real, made.imag], -1)
        reach = np.linalg.norm(wide, axis=-1) / (size if kind == "inverse" else 1)
        error = session.run({"x": x}).values["y"] - truth
        errors.append(error / (2.0**-24 * np.log2(size) * reach[:, None, None]))
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize("kind", ["onesided", "inverse", "plain"])
def test_the_noise_of_a_fourier_transform_is_its_error(kind: str) -> None:
    """Of powers of two, which are not computed in a wider type."""
    seen = [_error_of_fourier(size, kind) for size in (64, 256, 1024, 8192)]
    deviation = TABLE.noise["contraction"] / np.sqrt(3.0)  # of a uniform number
    assert max(seen) <= 1.25 * deviation, seen  # three deviations are allowed
    assert deviation <= 2.0 * min(seen), seen


# ---- filters of resizing -------------------------------------------------------------------------


def _error_of_filter(method: str, kernel: str, widened: tuple[bool, ...] = (False, True)) -> float:
    """Root mean square of the source's filter less that of the converter, in ``u |A||B|``."""
    errors = []
    sizes = ((8, 15), (9, 7), (11, 5), (7, 13), (16, 9), (5, 23), (30, 17))
    for (size, wanted), antialias in itertools.product(sizes, widened):
        image = np.eye(size, dtype=np.float32).reshape(1, size, 1, size)
        made = tf.image.resize(image, (wanted, 1), method=method, antialias=antialias)
        scale = np.float32(wanted) / np.float32(size)
        ours = kernel_weights(size, wanted, scale, 0.0, kernel=kernel, antialias=antialias)
        ours = ours.astype(np.float64)
        x = np.random.default_rng(0).standard_normal((size, 200))
        off = (made.numpy()[0, :, 0, :] - ours) @ x / (2.0**-24 * (np.abs(ours) @ np.abs(x)))
        errors.append(off.ravel())
    return float(np.sqrt(np.mean(np.square(np.concatenate(errors)))))


def test_the_noise_of_a_filter_of_resizing_is_its_error() -> None:
    seen = [_error_of_filter(k, k) for k in ("lanczos3", "lanczos5", "gaussian")]
    deviation = TABLE.noise["weights"] / np.sqrt(3.0)  # of a uniform number
    assert max(seen) <= 1.1 * deviation, seen
    assert deviation <= 1.1 * max(seen), seen
    assert _error_of_filter("bicubic", "keyscubic", (True,)) == 0.0  # no sines: the same numbers


# ---- sums in 16 bits -----------------------------------------------------------------------------

W = (np.random.default_rng(9).standard_normal((2, 2, 2, 5, 4)) * 0.3).astype(np.float16)
#: Shape of the input, weights, function of both.
SUMS: dict[str, tuple[tuple[int, ...], Array, Callable[[Any, Any], Any]]] = {
    "Conv3D": ((2, 6, 6, 6, 5), W, lambda x, w: tf.nn.conv3d(x, w, [1] * 5, "VALID")),
    "Conv2DBackpropInput": (
        (2, 4, 4, 4),
        W[0],
        lambda x, w: tf.nn.conv2d_transpose(x, w, (2, 8, 8, 5), 2, "SAME"),
    ),
    "DepthwiseConv2dNative": (
        (2, 8, 8, 5),
        W.reshape(4, 2, 5, 4)[:, :, :, :1],
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, "VALID"),
    ),
    "Conv2D": ((2, 8, 8, 5), W[0], lambda x, w: tf.nn.conv2d(x, w, 1, "VALID")),
    "MatMul": ((40, 5), W[0, 0, 0], lambda x, w: x @ w),
}


def _narrow_error(name: str) -> float:
    """Root mean square of the error of the source, in ``u |A|·|B|``, after one rounding."""
    shape, w, function = SUMS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    truth = function(tf.constant(x, tf.float64), tf.constant(w, tf.float64)).numpy()
    size = function(*(tf.constant(np.abs(a), tf.float64) for a in (x, w))).numpy()
    error = function(tf.constant(x), tf.constant(w)).numpy() - truth.astype(np.float16)
    return float(np.sqrt(np.mean(np.square(error.astype(np.float64) / (2.0**-11 * size)))))


@pytest.mark.parametrize("name", SUMS)
def test_which_operations_add_up_in_16_bits(name: str) -> None:
    deviation = TABLE.noise["contraction"] / np.sqrt(3.0)
    if name in TABLE.narrow_sums:
        assert deviation / 2.0 <= _narrow_error(name) <= 1.1 * deviation
    else:
        assert _narrow_error(name) < 0.05
    assert TABLE.narrow_sums <= SUMS.keys()


@pytest.mark.parametrize("name", sorted(TABLE.narrow_sums))
def test_sums_in_16_bits_agree_and_a_wrong_weight_does_not(name: str) -> None:
    shape, w, function = SUMS[name]
    wrong = w.copy()
    wrong.flat[::3] *= np.float16(1.1)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(shape).astype(np.float16)
        right, other = (
            tf.function(lambda v, c=c: function(v, c), autograph=False) for c in (w, wrong)
        )
        report = check_conversion(right, (x,), dynamic_shapes={}, seed=seed, localize=False)
        assert report.passed, report.text()
        if not seed:
            model = yobx.tensorflow.to_onnx(other, (x,), dynamic_shapes={})
            faulty = check_conversion(
                model, (x,), reference=lambda v, f=right: f(v).numpy(), localize=False
            )
            assert faulty.failed_phase == "values"


# ---- whole models --------------------------------------------------------------------------------


@pytest.mark.parametrize("elements", range(1, len(TABLE.rms_of_few) + 1))
def test_one_right_output_of_few_elements_in_ten_thousand_is_refused(elements: int) -> None:
    """The square of a root mean square over one that was measured is of the distribution F."""
    draws = 4_000_000
    rng = np.random.default_rng(elements)
    error = rng.chisquare(elements, draws) / elements
    measured = rng.chisquare(elements * TABLE.again, draws) / (elements * TABLE.again)
    limit = TABLE.rms_limit(elements, TABLE.again)
    refused = np.mean(error / measured > limit**2)
    assert 0.8e-4 < refused < 1.2e-4
    assert TABLE.rms_limit(elements, TABLE.runs) == TABLE.rms


def test_an_output_of_more_elements_has_the_limit_of_many() -> None:
    assert TABLE.rms_limit(len(TABLE.rms_of_few) + 1, TABLE.again) == TABLE.rms


@pytest.mark.parametrize("name", ["sums", "weights", "factor"])
def test_a_table_without_a_noise_says_which(tmp_path: Path, name: str) -> None:
    shipped = files("yobx.verification").joinpath("tolerances.toml").read_text(encoding="utf-8")
    file = tmp_path / "own.toml"
    file.write_text(re.sub(rf"(?m)^{name} = [\d.]+ .*$", "", shipped, count=1), encoding="utf-8")
    with pytest.raises(ArgumentError, match=f"model.noise.{name}"):
        load_tolerances(file)
