"""Operations that JAX does not write, against XLA, which runs them from their text."""

from __future__ import annotations

from typing import Any

import jax
import ml_dtypes
import numpy as np
import onnx
import pytest
from jax.extend.backend import get_backend
from jaxlib import xla_client

from tests.stablehlo.test_reader import parse
from yobx.errors import ConversionError
from yobx.stablehlo.convert import convert_module
from yobx.verification.runner import Session
from yobx.xbuilder import GraphBuilder

RNG = np.random.default_rng(0)
SHORT = {"float64": "f64", "float16": "f16", "bfloat16": "bf16"}


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(np.float32)


def kind(array: np.ndarray[Any, Any]) -> str:
    names = {"float32": "f32", "int32": "i32", **SHORT}
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{names[array.dtype.name]}>"


def text_of(body: str, arrays: list[Any], results: str) -> str:
    given = ", ".join(f"%{chr(97 + i)}: {kind(a)}" for i, a in enumerate(arrays))
    return f"module @m {{ func.func public @main({given}) -> ({results}) {{ {body} }} }}"


def of_xla(text: str, arrays: list[Any]) -> list[np.ndarray[Any, Any]]:
    backend = get_backend()
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    program = backend.compile_and_load(text, devices, xla_client.CompileOptions())
    given = [jax.numpy.asarray(array) for array in arrays]
    return [np.asarray(result) for result in program.execute(given)]


def converted(text: str, arrays: list[Any]) -> onnx.ModelProto:
    g = GraphBuilder({"": 21})
    names = [(g.make_tensor_input(f"x{i}", a.dtype, a.shape),) for i, a in enumerate(arrays)]
    for i, (name,) in enumerate(convert_module(g, parse(text), names)):
        g.make_tensor_output(f"y{i}", source=name)
    return g.to_onnx()


X, W, V = normal(2, 3, 4), normal(4, 5), [normal(3) for _ in range(3)]
POSITIVE = np.abs(normal(3)) + np.float32(0.1)
STATISTICS = "{epsilon = 0.001 : f32, feature_index = 1 : i64}"
CASES: dict[str, tuple[str, list[Any], str]] = {
    "broadcast": (
        '%0 = "stablehlo.broadcast"(%a) {broadcast_sizes = array<i64: 2, 3>} : '
        "(tensor<4x5xf32>) -> tensor<2x3x4x5xf32> return %0 : tensor<2x3x4x5xf32>",
        [W],
        "tensor<2x3x4x5xf32>",
    ),
    "einsum": (
        '%0 = "stablehlo.einsum"(%a, %b) {einsum_config = "abc,cd->abd"} : '
        "(tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32> return %0 : tensor<2x3x5xf32>",
        [X, W],
        "tensor<2x3x5xf32>",
    ),
    "index select": (
        '%0 = "stablehlo.torch_index_select"(%a, %b) {dim = 1 : i64, batch_dims = 0 : i64} : '
        "(tensor<2x3x4xf32>, tensor<4xi32>) -> tensor<2x4x4xf32> return %0 : tensor<2x4x4xf32>",
        [X, np.array([2, 0, 5, -1], np.int32)],
        "tensor<2x4x4xf32>",
    ),
    "batch norm": (
        f'%0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) {STATISTICS} : '
        "(tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> "
        "tensor<2x3x4xf32> return %0 : tensor<2x3x4xf32>",
        [X, *V, POSITIVE],
        "tensor<2x3x4xf32>",
    ),
    "batch norm of the batch": (
        f'%0, %1, %2 = "stablehlo.batch_norm_training"(%a, %b, %c) {STATISTICS} : '
        "(tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> "
        "(tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) "
        "return %0, %1, %2 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>",
        [X, *V[:2]],
        "tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>",
    ),
}


def agree(text: str, arrays: list[Any], tolerance: float) -> None:
    feeds = {f"x{i}": array for i, array in enumerate(arrays)}
    got = list(Session(converted(text, arrays)).run(feeds).values.values())
    wanted = of_xla(text, arrays)
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype
        near = (np.asarray(array, np.float64) for array in (one, other))
        np.testing.assert_allclose(*near, rtol=tolerance, atol=tolerance / 4)


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    body, arrays, results = CASES[name]
    agree(text_of(body, arrays, results), arrays, 4e-6)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("name", CASES)
def test_other_floats(name: str, dtype: str) -> None:
    """Both sides round sums of up to eight numbers, each in its own order."""
    body, arrays, results = CASES[name]
    kind = np.dtype(dtype)
    with jax.enable_x64(True):
        cast = [a.astype(kind) if a.dtype == np.float32 else a for a in arrays]
        text = text_of(body, cast, results).replace("xf32>", f"x{SHORT[dtype]}>")
        agree(text, cast, 8 * float(ml_dtypes.finfo(kind).eps))


def test_an_index_for_each_entry_is_refused() -> None:
    body = (
        '%0 = "stablehlo.torch_index_select"(%a, %b) {dim = 1 : i64, batch_dims = 1 : i64} : '
        "(tensor<2x3x4xf32>, tensor<2x2xi32>) -> tensor<2x2x4xf32> return %0 : tensor<2x2x4xf32>"
    )
    arrays = [X, np.zeros((2, 2), np.int32)]
    with pytest.raises(ConversionError, match="batch_dims=1"):
        converted(text_of(body, arrays, "tensor<2x2x4xf32>"), arrays)
