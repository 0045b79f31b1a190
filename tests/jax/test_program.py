"""Functions as modules: traced once, exported only where that is needed, for one device."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tests.stablehlo.jax_cases import Case, agree, normal, run
from yobx.errors import UnsupportedOpError
from yobx.jax import to_onnx
from yobx.jax.program import lower, read_exported
from yobx.stablehlo import ir


def operations(module: ir.Module) -> set[str]:
    """Names of all operations of a module."""
    return {o.name for f in module.functions.values() for o in f.body.walk()}


def spec(*shape: Any, dtype: Any = np.float32) -> jax.ShapeDtypeStruct:
    """An argument; the sizes may be text."""
    text = ", ".join(map(str, shape))
    return jax.ShapeDtypeStruct(export.symbolic_shape(f"({text},)"), dtype)


def check(function: Any, *args: Any, **kwargs: Any) -> None:
    """Convert, run and compare with JAX."""
    agree(Case("one", function, lambda n: args), run(to_onnx(function, args, **kwargs), args), args)


@pytest.mark.parametrize("function", [jnp.sin, jax.nn.gelu, lax.erf, lambda x: lax.top_k(x, 2)])
def test_one_trace_is_enough(function: Any) -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return function(x)

    lower(counted, (spec("n", 3),), 21)
    assert len(calls) == 1


def test_exact_gelu_stays_in_one_piece() -> None:
    program = lower(lambda x: jax.nn.gelu(x, approximate=False), (spec("n", 3),), 21)
    assert "yobx.gelu" in operations(program.module)


@pytest.mark.parametrize(
    "function", [lax.lgamma, lax.digamma, lax.erfc, lax.erf_inv, lax.bessel_i1e]
)
@pytest.mark.parametrize("shapes", [{}, ({0: "n"},)])
def test_what_only_the_export_expands(function: Any, shapes: Any) -> None:
    assert not any(
        name.startswith("chlo.") for name in operations(lower(function, (spec(3),), 21).module)
    )
    case = Case("expanded", function, lambda n: (), tolerance=(2e-5, 2e-6))
    x = np.linspace(0.05, 0.95, 7, dtype=np.float32)
    agree(case, run(to_onnx(function, (x,), dynamic_shapes=shapes), (x,)), (x,))


@pytest.mark.parametrize("word", ["erf", "asinh", "cosh"])
def test_doubles_lose_nothing(word: str) -> None:
    with jax.enable_x64(True):
        check(getattr(lax, word), np.linspace(-2, 2, 9))


@pytest.mark.parametrize("x64", [False, True])
def test_sizes_are_read_of_the_arrays(x64: bool) -> None:
    with jax.enable_x64(x64):
        program = lower(lambda x, y: (x.sum() * x.shape[0], y), (spec("n", 3), spec(4, "m")), 21)
        main = program.module.main.body
        assert [str(a.tensor) for a in main.arguments] == ["float32[?, 3]", "float32[4, ?]"]
        assert "stablehlo.get_dimension_size" in operations(program.module)
        check(
            lambda x, y: jnp.broadcast_to(x[:, None, :1] * y.shape[1], (x.shape[0], y.shape[1], 2)),
            *(normal(5, 3), normal(4, 2)),
            dynamic_shapes=({0: "n"}, {1: "m"}),
        )


def test_a_size_that_no_axis_has() -> None:
    def halves(x: Any) -> Any:
        return x.reshape(-1, 2, 3).sum(1)

    model = to_onnx(halves, (spec("2*n", 3),))
    for n in (1, 4):
        x = normal(2 * n, 3)
        agree(Case("halves", halves, lambda n: ()), run(model, (x,)), (x,))


def test_arguments_that_nothing_reads_are_not_taken() -> None:
    def partial(w: Any, x: Any, y: Any) -> Any:
        return y * 2

    program = lower(partial, (spec(2, 3), spec(3), spec(4)), 21)
    assert list(program.kept) == [2]
    assert len(program.module.main.body.arguments) == 1


def test_prints_are_left_out() -> None:
    def talkative(x: Any) -> Any:
        jax.debug.print("x is {}", x, ordered=True)

        def step(carry: Any, row: Any) -> Any:
            jax.debug.callback(lambda value: None, row)
            return carry + row, carry

        return lax.scan(step, x[0] * 0, x)

    check(talkative, normal(4, 3))
    check(talkative, normal(4, 3), dynamic_shapes={})


def test_a_callback_that_computes_is_refused() -> None:
    def called(x: Any) -> Any:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(UnsupportedOpError, match="callback"):
        to_onnx(called, (normal(3),), dynamic_shapes={})


def test_references_inside() -> None:
    def with_memory(x: Any) -> Any:
        memory = jax.new_ref(x)
        memory[0] = 5.0
        return memory[...] * 2

    check(with_memory, normal(3), dynamic_shapes={})


def mesh() -> Mesh:
    """The only device."""
    return Mesh(np.array(jax.devices()[:1]), ("d",))


def test_shardings_are_left_out_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = NamedSharding(mesh(), PartitionSpec("d", None))
    function = jax.jit(
        lambda x: lax.with_sharding_constraint(jnp.sin(x), rows) * 2, in_shardings=rows
    )
    check(function, normal(4, 2), verbose=1)
    assert "shardings are left out" in capsys.readouterr().err
    check(jnp.sin, normal(4, 2), verbose=1)
    assert "shardings" not in capsys.readouterr().err


def test_communication_of_one_device() -> None:
    def talk(x: Any) -> Any:
        total = lax.psum(x, "d") + lax.pmax(x, "d") * lax.axis_index("d")
        gathered = lax.all_gather(x, "d", axis=0, tiled=True)
        turned = lax.ppermute(x, "d", [(0, 0)])
        return total, gathered + turned, lax.psum_scatter(x, "d", tiled=True)

    part = PartitionSpec("d")
    function = jax.shard_map(talk, mesh=mesh(), in_specs=part, out_specs=part)
    check(function, normal(4, 2), dynamic_shapes={})


def test_export_for_several_platforms() -> None:
    def function(x: Any) -> Any:
        return lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)

    exported = export.export(jax.jit(function), platforms=("tpu", "cpu"))(spec("n"))
    assert len(read_exported(exported).module.main.body.arguments) == 1
    x = normal(3)
    model = to_onnx(exported)
    assert [node.op_type for node in model.graph.node] == ["Sin"]
    np.testing.assert_allclose(run(model, (x,))[0], np.sin(x), rtol=1e-6)


def test_the_name_stack_begins_with_the_function() -> None:
    def attention(x: Any) -> Any:
        with jax.named_scope("scores"):
            return jnp.tanh(x)

    (node,) = to_onnx(attention, (normal(3),)).graph.node
    layers = {p.key: p.value for p in node.metadata_props}
    assert layers["yobx.layer"] == "jit(attention)/scores/tanh"
