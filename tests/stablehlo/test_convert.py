"""Whole modules: errors, dead code, provenance, inlining, own converters, regions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import normal, operators, run
from tests.stablehlo.test_reader import parse
from yobx.errors import ArgumentError, ConversionError, UnsupportedOpError
from yobx.jax import to_onnx
from yobx.stablehlo.convert import convert_module
from yobx.stablehlo.loops import counted_loop
from yobx.stablehlo.regions import SortKey, monoid, sort_keys
from yobx.xbuilder import GraphBuilder


def test_all_unsupported_operations_are_listed() -> None:
    def function(x: jax.Array) -> Any:
        return jnp.linalg.eigvals(x), lax.linalg.schur(x)

    with pytest.raises(UnsupportedOpError) as caught:
        to_onnx(function, (normal(3, 3),), dynamic_shapes={})
    kinds = {occurrence.op_type for occurrence in caught.value.occurrences}
    assert kinds >= {"custom_call.lapack_sgeev_ffi", "custom_call.lapack_sgees_ffi"}
    assert "test_convert.py" in str(caught.value)
    assert "extra_converters" in str(caught.value)


def test_what_nobody_needs_is_not_converted() -> None:
    def function(x: jax.Array) -> jax.Array:
        jnp.linalg.eigvals(x)
        return x + 1

    model = to_onnx(function, (normal(3, 3),), dynamic_shapes={})
    assert operators(model) == ["Add"]


def test_own_converter_comes_first() -> None:
    def sine(g: GraphBuilder, op: Any) -> str:
        return str(g.op.Cos(op.x()))

    x = normal(3)
    model = to_onnx(jnp.sin, (x,), extra_converters={"sine": sine}, dynamic_shapes={})
    np.testing.assert_allclose(run(model, (x,))[0], np.cos(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("converters", "why"),
    [
        ({"sin": lambda op: ""}, r"test_convert\.py:\d+\), which takes \(op\): too many"),
        ({"sin": "sin"}, r"Received: 'sin', which cannot be called, given for 'sin'\."),
        ([("sin", print)], r"extra_converters maps StableHLO operations to functions \(g, op\)"),
    ],
)
def test_a_converter_that_cannot_be_called_is_refused_at_once(converters: Any, why: str) -> None:
    def never(x: jax.Array) -> jax.Array:
        raise AssertionError

    with pytest.raises(ArgumentError, match=why) as caught:
        to_onnx(never, (normal(3),), extra_converters=converters)
    assert caught.value.argument == "extra_converters"


def test_a_converter_returns_a_name_for_each_result() -> None:
    def sine(g: GraphBuilder, op: Any) -> tuple[str, str]:
        return str(g.op.Cos(op.x())), str(g.op.Cos(op.x()))

    with pytest.raises(
        ConversionError,
        match=r"each of the 1 results of 'stablehlo\.sine'\. Received: 2, from .*sine \(.*py:\d+\)",
    ):
        to_onnx(jnp.sin, (normal(3),), extra_converters={"sine": sine})


def test_nodes_carry_the_name_stack() -> None:
    def layer(x: jax.Array) -> jax.Array:
        with jax.named_scope("mixing"):
            return jnp.tanh(x)

    model = to_onnx(lambda x: jax.jit(layer)(x), (normal(3),), dynamic_shapes={})
    facts = {p.key: p.value for p in model.graph.node[0].metadata_props}
    assert facts["yobx.op"] == "stablehlo.tanh"
    assert "mixing" in facts["yobx.layer"]


def test_named_sizes_leave_no_shape_arithmetic() -> None:
    def attention(x: jax.Array) -> jax.Array:
        n, t, d = x.shape
        heads = x.reshape(n, t, 2, d // 2)
        scores = jax.nn.softmax(jnp.einsum("nthd,nshd->nhts", heads, heads))
        return jnp.einsum("nhts,nshd->nthd", scores, heads).reshape(n, t, d)

    model = to_onnx(attention, (normal(2, 5, 6),), dynamic_shapes=({0: "n", 1: "t"},))
    found = operators(model)
    assert not {"Shape", "Cast", "Concat", "Expand"} & set(found), found
    shape = model.graph.output[0].type.tensor_type.shape
    assert [d.dim_param or d.dim_value for d in shape.dim] == ["n", "t", 6]


REGION = """
func.func @main(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<f32> {{
  %0 = "stablehlo.reduce"(%a, %b) ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    {body}
  }}) {{dimensions = array<i64: 0>}} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}}"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("%z = stablehlo.add %x, %y : tensor<f32> stablehlo.return %z : tensor<f32>", "add"),
        ("%z = stablehlo.maximum %y, %x : tensor<f32> stablehlo.return %z : tensor<f32>", "max"),
        ("stablehlo.return %y : tensor<f32>", "second"),
        ("%z = stablehlo.add %x, %x : tensor<f32> stablehlo.return %z : tensor<f32>", None),
        ("%z = stablehlo.subtract %x, %y : tensor<f32> stablehlo.return %z : tensor<f32>", None),
    ],
)
def test_monoids(body: str, kind: str | None) -> None:
    module = parse(REGION.format(body=body))
    assert monoid(module.main.body.operations[0].regions[0]) == kind


def _find(function: Any, name: str, *args: Any) -> Any:
    text = str(jax.jit(function).lower(*args).compiler_ir("stablehlo"))
    return next(
        op for f in parse(text).functions.values() for op in f.body.walk() if op.name == name
    )


def test_sort_orders() -> None:
    x = normal(4)
    plain = _find(lambda x: lax.sort(x), "stablehlo.sort", x)
    assert sort_keys(plain.regions[0]) == (SortKey(0, False),)
    both = _find(lambda x, y: lax.sort((x, y), num_keys=2), "stablehlo.sort", x, x)
    assert sort_keys(both.regions[0]) == (SortKey(0, False), SortKey(1, False))


def test_loops_that_count() -> None:
    x = normal(4)
    counted = _find(lambda x: lax.fori_loop(0, 3, lambda i, c: c + i, x), "stablehlo.while", x)
    assert counted_loop(counted) is not None
    free = _find(
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: c * 2, x), "stablehlo.while", x
    )
    assert counted_loop(free) is None
    # the limit moves, so the number of turns is not known
    moving = _find(
        lambda n: lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1] - 1), (0, n)),
        "stablehlo.while",
        np.int32(9),
    )
    assert counted_loop(moving) is None


POWER = """
func.func @main(%a: tensor<{n}x{t}>, %b: tensor<{n}x{t}>) -> tensor<{n}x{t}> {{
  %0 = stablehlo.{op} %a, %b : tensor<{n}x{t}>
  return %0 : tensor<{n}x{t}>
}}"""


@pytest.mark.parametrize(("text", "dtype"), [("i32", "int32"), ("i8", "int8"), ("ui8", "uint8")])
def test_integer_power_wraps(text: str, dtype: str) -> None:
    base = np.array([2, 3, 5, 0, 1, 7, 2], dtype)
    exponent = np.array([3, 9, 2, 0, 7, 1, 77], dtype)
    # XLA reads six bits of the exponent
    wanted = [
        pow(int(b), int(e) & 63, 2 ** (8 * base.itemsize))
        for b, e in zip(base, exponent, strict=True)
    ]
    module = parse(POWER.format(n=len(base), t=text, op="power"))
    g = GraphBuilder(21)
    names = [(g.make_tensor_input(n, dtype, base.shape),) for n in "ab"]
    g.make_tensor_output("y", source=convert_module(g, module, names)[0][0])
    result = run(g.to_onnx(), (base, exponent))[0]
    np.testing.assert_array_equal(result, np.array(wanted).astype(dtype))
