"""Reading modules: every element type, attributes, locations, functions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir as mlir

from yobx.errors import InvalidModelError
from yobx.stablehlo.ir import Module
from yobx.stablehlo.reader import read_artifact, read_module


def parse(text: str) -> Module:
    """Read a module written as text."""
    with jax_mlir.make_ir_context():
        return read_module(mlir.Module.parse(text))


def export_of(function: Any, *shapes: Any) -> Module:
    """Read what JAX exports."""
    return read_artifact(export.export(jax.jit(function))(*shapes).mlir_module_serialized)


CONSTANTS: list[tuple[str, Any]] = [
    ("dense<[1.5, -2.0]> : tensor<2xf32>", np.array([1.5, -2.0], np.float32)),
    ("dense<1.5> : tensor<2x3xf32>", np.full((2, 3), 1.5, np.float32)),
    ("dense<0xFFC00000> : tensor<f32>", np.array(-np.nan, np.float32)),
    ("dense<[1.0, 3.0]> : tensor<2xbf16>", np.array([1, 3], ml_dtypes.bfloat16)),
    ("dense<1.0> : tensor<2x3xbf16>", np.ones((2, 3), ml_dtypes.bfloat16)),
    ("dense<[0x7FC0, 0xFF80]> : tensor<2xbf16>", np.array([np.nan, -np.inf], ml_dtypes.bfloat16)),
    ("dense<[1.0, -3.0]> : tensor<2xf8E4M3FN>", np.array([1, -3], ml_dtypes.float8_e4m3fn)),
    ("dense<2.0> : tensor<3xf8E5M2>", np.full(3, 2, ml_dtypes.float8_e5m2)),
    ("dense<[1, 2, -3]> : tensor<3xi4>", np.array([1, 2, -3], ml_dtypes.int4)),
    ("dense<[1, 15]> : tensor<2xui4>", np.array([1, 15], ml_dtypes.uint4)),
    ("dense<true> : tensor<2xi1>", np.ones(2, bool)),
    ("dense<[true, false, true]> : tensor<3xi1>", np.array([True, False, True])),
    ("dense<[18446744073709551615, 0]> : tensor<2xui64>", np.array([2**64 - 1, 0], np.uint64)),
    (
        "dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>",
        np.array([1 + 2j, 3 - 4j], np.complex64),
    ),
    ("dense<(1.0, 2.0)> : tensor<2xcomplex<f64>>", np.full(2, 1 + 2j)),
    ("dense<> : tensor<0x3xi32>", np.zeros((0, 3), np.int32)),
]


@pytest.mark.parametrize(("text", "wanted"), CONSTANTS, ids=[text for text, _ in CONSTANTS])
def test_constants(text: str, wanted: np.ndarray[Any, Any]) -> None:
    kind = text.partition(" : ")[2]
    module = parse(
        f"func.func @main() -> {kind} {{ %0 = stablehlo.constant {text} return %0 : {kind} }}"
    )
    value = module.main.body.operations[0].attributes["value"]
    assert value.dtype == wanted.dtype
    assert value.shape == wanted.shape
    assert value.tobytes() == wanted.tobytes() or np.array_equal(value, wanted, equal_nan=True)
    assert module.main.body.outputs[0].tensor.dtype == wanted.dtype


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.complex64, ml_dtypes.float8_e4m3fn])
def test_long_constants(dtype: Any) -> None:
    wanted = (np.arange(300) % 7).astype(dtype)
    module = export_of(lambda: jnp.asarray(wanted))
    found = [op for op in module.main.body.walk() if op.name == "stablehlo.constant"]
    np.testing.assert_array_equal(found[0].attributes["value"], wanted)


def test_large_constants_are_not_copied() -> None:
    wanted = np.arange(10000, dtype=np.float32)
    module = export_of(lambda: jnp.asarray(wanted))
    value = module.main.body.operations[0].attributes["value"]
    np.testing.assert_array_equal(value, wanted)
    assert value.base is not None


def test_attributes_are_plain() -> None:
    module = export_of(
        lambda x, i: (x[i], jnp.sum(x, 1)),
        jax.ShapeDtypeStruct((4, 3), jnp.float32),
        jax.ShapeDtypeStruct((5,), jnp.int32),
    )
    gather = next(op for op in module.main.body.walk() if op.name == "stablehlo.gather")
    assert gather.attributes["slice_sizes"] == (1, 3)
    assert gather.attributes["dimension_numbers"] == {
        "offset_dims": (1,),
        "collapsed_slice_dims": (0,),
        "operand_batching_dims": (),
        "start_indices_batching_dims": (),
        "start_index_map": (0,),
        "index_vector_dim": 1,
    }
    reduce = next(op for op in module.main.body.walk() if op.name == "stablehlo.reduce")
    assert reduce.attributes["dimensions"] == (1,)
    assert [op.name for op in reduce.regions[0].operations] == ["stablehlo.add", "stablehlo.return"]


def test_locations_name_function_and_line() -> None:
    def scaled(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    module = export_of(scaled, jax.ShapeDtypeStruct((2,), jnp.float32))
    location = module.main.body.operations[0].location
    assert location.name_stack == "jit(scaled)/sin"
    assert "scaled (" in location.source
    assert "test_reader.py" in location.source


def test_dynamic_dimensions_and_calls() -> None:
    (n,) = export.symbolic_shape("n")
    module = export_of(lambda x: x + 1, jax.ShapeDtypeStruct((n, 2), jnp.float32))
    assert module.main.body.arguments[0].tensor.shape == (None, 2)
    assert "_wrapped_jax_export_main" in module.functions


def test_bytes_that_are_no_module() -> None:
    with pytest.raises(InvalidModelError, match="artifact must be one that this jaxlib"):
        read_artifact(b"nothing")
