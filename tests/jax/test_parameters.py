"""Weights of modules become initializers named by their tree paths."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from jax import export

from tests.stablehlo.jax_cases import normal, run
from yobx.errors import ArgumentError
from yobx.jax import to_onnx


def initializers(model: onnx.ModelProto) -> set[str]:
    """Names of the initializers."""
    return {tensor.name for tensor in model.graph.initializer}


def agrees(function: Any, model: onnx.ModelProto, wanted: set[str]) -> None:
    """The named weights are there, and the numbers are right at two batch sizes."""
    assert wanted <= initializers(model), initializers(model)
    assert len(model.graph.input) == 1
    for n in (5, 1):
        x = normal(n, 4, seed=n)
        np.testing.assert_allclose(run(model, (x,))[0], function(x), rtol=2e-5, atol=2e-6)


def test_partial_function() -> None:
    params = {"dense": {"w": normal(4, 3), "b": normal(3, seed=1)}, "scale": 2.0}

    def apply(params: Any, x: jax.Array) -> jax.Array:
        return (x @ params["dense"]["w"] + params["dense"]["b"]) * params["scale"]

    function = functools.partial(apply, params)
    agrees(function, to_onnx(function, (normal(5, 4),), passes=()), {"dense.w", "dense.b"})


def test_arrays_are_not_copied_and_unread_ones_left_out() -> None:
    params = {"w": normal(4, 3), "unread": normal(7)}
    function = functools.partial(lambda p, x: x @ p["w"], params)
    model = to_onnx(function, (normal(5, 4),))
    assert initializers(model) == {"w"}


def test_a_name_that_is_taken() -> None:
    function = functools.partial(lambda p, x: x @ p["x"], {"x": normal(4, 3)})
    model = to_onnx(function, (normal(5, 4),), passes=())
    assert [value.name for value in model.graph.input] == ["x"]
    x = normal(5, 4)
    np.testing.assert_allclose(run(model, (x,))[0], function(x), rtol=1e-5)


def test_complex_and_low_precision_weights() -> None:
    params = {"c": (normal(4, 3) + 1j).astype(np.complex64), "h": jnp.ones(3, jnp.bfloat16)}
    function = functools.partial(lambda p, x: jnp.abs(x @ p["c"]) * p["h"], params)
    model = to_onnx(function, (normal(5, 4),), passes=())
    agrees(function, model, {"c.real", "c.imag", "h"})


def test_nnx() -> None:
    nnx = pytest.importorskip("flax.nnx", reason="flax is not installed")

    class Block(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.first = nnx.Linear(4, 3, rngs=rngs)
            self.norm = nnx.BatchNorm(3, rngs=rngs)
            self.drop = nnx.Dropout(0.5, rngs=rngs)
            self.rest = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(2)])

        def __call__(self, x: jax.Array) -> jax.Array:
            x = self.drop(self.norm(jnp.tanh(self.first(x))))
            for layer in self.rest:
                x = layer(x)
            return x

    block = Block(nnx.Rngs(0))
    block.eval()
    names = {"first.kernel", "norm.mean", "rest.0.kernel", "rest.1.bias"}
    for function in (block, block.__call__):
        agrees(function, to_onnx(function, (normal(5, 4),), passes=()), names)


def test_linen() -> None:
    nn = pytest.importorskip("flax.linen", reason="flax is not installed")
    model = nn.Sequential([nn.Dense(3), nn.relu, nn.Dense(2)])
    variables = model.init(jax.random.key(0), normal(5, 4))
    names = {"params.layers_0.kernel", "params.layers_2.bias"}
    for function in (functools.partial(model.apply, variables), model.bind(variables)):
        agrees(function, to_onnx(function, (normal(5, 4),), passes=()), names)


def test_equinox() -> None:
    eqx = pytest.importorskip("equinox", reason="equinox is not installed")

    class Net(eqx.Module):
        mlp: Any
        scale: float

        def __call__(self, x: jax.Array) -> jax.Array:
            return jax.vmap(self.mlp)(x) * self.scale

    net = Net(eqx.nn.MLP(4, 3, 8, 1, key=jax.random.key(0)), 0.5)
    names = {"mlp.layers.0.weight", "mlp.layers.1.bias"}
    for function in (net, net.__call__):
        agrees(function, to_onnx(function, (normal(5, 4),), passes=()), names)


def test_serialized_function(tmp_path: Path) -> None:
    (n,) = export.symbolic_shape("n")
    exported = export.export(jax.jit(lambda x: jnp.sin(x) * 2))(
        jax.ShapeDtypeStruct((n, 4), np.float32)
    )
    data = exported.serialize()
    path = tmp_path / "function.jax"
    path.write_bytes(data)
    x = normal(3, 4)
    for source in (data, bytes(data), path, str(path)):
        (got,) = run(to_onnx(source), (x,))
        np.testing.assert_allclose(got, np.sin(x) * 2, rtol=1e-6)


@pytest.mark.parametrize("source", [b"nothing", "no_such_file.jax"])
def test_what_is_no_serialized_function(source: Any) -> None:
    with pytest.raises(ArgumentError, match="serialized function"):
        to_onnx(source)


def test_verbose_tells_the_stages(capsys: pytest.CaptureFixture[str]) -> None:
    to_onnx(lambda x: x + 1, (normal(5, 4),), verbose=1)
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(":")[0] for line in told.err.splitlines()] == [
        "tracing",
        "converting",
        "finishing and checking",
    ]


def test_a_module_whose_results_depend_on_what_it_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nnx = pytest.importorskip("flax.nnx", reason="flax is not installed")

    class Net(nnx.Module):
        def __init__(self) -> None:
            self.norm = nnx.BatchNorm(4, rngs=nnx.Rngs(0))
            self.drop = nnx.Dropout(0.5, rngs=nnx.Rngs(1))

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.drop(self.norm(x))

    net = Net()
    net.train()
    to_onnx(net, (normal(5, 4),))
    (record,) = caplog.records
    # the statistics of training are written and not read
    assert "depend on: drop.rngs.count." in record.message
    caplog.clear()
    net.eval()
    for function in (net, net.norm, net.__call__):
        to_onnx(function, (normal(5, 4),))
    # the counter of a mask that is not drawn
    to_onnx(nnx.RNN(nnx.LSTMCell(4, 3, rngs=nnx.Rngs(0)), rngs=nnx.Rngs(0)), (normal(2, 5, 4),))
    assert not caplog.records
