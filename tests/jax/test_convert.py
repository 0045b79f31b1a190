"""``yobx.jax.to_onnx``: interface, names, symbolic sizes, errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from jax import export

from tests.stablehlo.jax_cases import normal, operators, run
from yobx.errors import ArgumentError, TraceError, UnsupportedDtypeError
from yobx.jax import to_onnx


class Result(NamedTuple):
    """A result with fields."""

    mean: Any
    parts: Any


def dims(value: onnx.ValueInfoProto) -> list[int | str]:
    """Sizes and names of the axes."""
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def tree(params: Any, batch: Any, *, scale: Any = 1.0) -> Any:
    """Pytrees in and out."""
    h = batch["obs"] @ params["w"] + params["b"]
    return Result(mean=h.mean(), parts={"h": h * scale, "pair": (h, batch["mask"])})


def arguments(n: int = 4) -> tuple[Any, Any]:
    """Parameters and a batch of `n`."""
    params = {"w": normal(3, 2), "b": normal(2)}
    return params, {"obs": normal(n, 3), "mask": np.ones(n, bool)}


def test_names_follow_the_trees() -> None:
    shapes = {"w": {}, "b": {}, "obs": {0: "n"}, "mask": {0: "n"}}
    model = to_onnx(tree, arguments(), dynamic_shapes=shapes)
    assert [i.name for i in model.graph.input] == ["b", "w", "mask", "obs"]
    assert [o.name for o in model.graph.output] == [
        "mean",
        "parts.h",
        "parts.pair.0",
        "parts.pair.1",
    ]
    assert dims(model.graph.output[1]) == ["n", 2]
    args = arguments(7)
    wanted = jax.tree.leaves(tree(*args))
    for one, other in zip(run(model, args), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_keyword_arguments_and_input_names() -> None:
    scale = {"scale": np.float32(2)}
    model = to_onnx(tree, arguments(), kwargs=scale, dynamic_shapes={}, input_names=list("abcde"))
    assert [i.name for i in model.graph.input] == list("abcde")


@pytest.mark.parametrize(
    "shapes",
    [({}, {}, {0: "n"}, {0: "n"}), ({}, {"obs": {0: "n"}, "mask": {0: "n"}})],
    ids=["flat", "nested"],
)
def test_ways_to_give_dynamic_shapes(shapes: Any) -> None:
    model = to_onnx(tree, arguments(), dynamic_shapes=shapes)
    assert [dims(i) for i in model.graph.input] == [[2], [3, 2], ["n"], ["n", 3]]


def test_default_is_a_shared_batch() -> None:
    model = to_onnx(lambda x, y: (x, y + 1), (normal(5, 2), normal(3)))
    assert [dims(i) for i in model.graph.input] == [["batch", 2], ["batch_1"]]
    model = to_onnx(lambda x, y: x + y, (normal(5), normal(5)))
    assert [dims(i) for i in model.graph.input] == [["batch"], ["batch"]]


def test_declarations_keep_their_symbols() -> None:
    n, m = export.symbolic_shape("n, m", constraints=["m >= 2"])
    spec = jax.ShapeDtypeStruct((n, m), jnp.float32)
    model = to_onnx(lambda x: x.reshape(-1), (spec,))
    assert dims(model.graph.input[0]) == ["n", "m"]
    info = onnx.helper.make_tensor_value_info("data", onnx.TensorProto.FLOAT, ["k", 3])
    model = to_onnx(lambda x: x * 2, (info,))
    assert model.graph.input[0].name == "data"
    assert dims(model.graph.output[0]) == ["k", 3]


def test_constraints_help_jax() -> None:
    def function(x: jax.Array) -> jax.Array:
        return x[:-2] if x.shape[0] >= 3 else x

    x = normal(5)
    with pytest.raises(TraceError, match="are symbolic"):
        to_onnx(function, (x,), dynamic_shapes=({0: "n"},))
    model = to_onnx(function, (x,), dynamic_shapes=({0: "n"},), constraints=["n >= 3"])
    np.testing.assert_array_equal(run(model, (normal(9),))[0], normal(9)[:-2])


def test_scopes_of_symbolic_sizes_keep_their_constraints() -> None:
    def function(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x[:2] if x.shape[0] >= 2 else -x, y if y.shape[0] <= 9 else -y

    def spec(name: str, *constraints: str) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(
            export.symbolic_shape(name, constraints=constraints), jnp.float32
        )

    few = spec("m", "m >= 2")
    model = to_onnx(function, (few, spec("q", "q <= 9")))
    assert [dims(o) for o in model.graph.output] == [[2], ["q"]]
    model = to_onnx(
        function, (few, normal(3)), dynamic_shapes=(None, {0: "q"}), constraints=["q <= 9"]
    )
    assert [dims(o) for o in model.graph.output] == [[2], ["q"]]
    with pytest.raises(TraceError, match="'q' <= '9' is inconclusive"):
        to_onnx(function, (few, spec("q")))


def test_expressions_relate_sizes() -> None:
    def pairs(x: Any, y: Any) -> Any:
        return x.reshape(-1, 2).sum(1) + y

    model = to_onnx(pairs, (normal(6), normal(3)), dynamic_shapes=({0: "2*k"}, {0: "k"}))
    assert [dims(v) for v in (*model.graph.input, *model.graph.output)] == [["2*k"], ["k"], ["k"]]
    args = normal(10), normal(5)
    np.testing.assert_allclose(run(model, args)[0], pairs(*args), rtol=1e-6)
    with pytest.raises(ArgumentError, match=r"'2\*k' for an axis of size 5"):
        to_onnx(lambda x: x, (normal(5),), dynamic_shapes=({0: "2*k"},))
    with pytest.raises(ArgumentError, match="floordiv"):
        to_onnx(lambda x: x, (normal(5),), dynamic_shapes=({0: "k//2"},))
    with pytest.raises(ArgumentError, match="an expression of identifiers"):
        to_onnx(lambda x: x, (normal(5),), dynamic_shapes=({0: "2 k"},))


def test_more_dynamic_shapes_than_arguments_are_refused() -> None:
    with pytest.raises(ArgumentError, match="Received: 2 entries for the inputs x"):
        to_onnx(lambda x: x, (normal(3),), dynamic_shapes=({0: "n"}, {0: "n"}))
    args = (normal(3), {"a": normal(3)})
    model = to_onnx(lambda x, k: x + k["a"].sum(), args, dynamic_shapes=({0: "n"}, {}))
    assert dims(model.graph.input[0]) == ["n"]


def test_exported_function() -> None:
    (n,) = export.symbolic_shape("n")
    made = export.export(jax.jit(lambda x: {"y": x * 2}))(jax.ShapeDtypeStruct((n,), jnp.float32))
    model = to_onnx(made)
    assert [o.name for o in model.graph.output] == ["y"]
    assert dims(model.graph.input[0]) == ["n"]


@pytest.mark.parametrize("dynamic", [({0: "m"},), {}, {"x": {0: "m"}}], ids=str)
def test_an_exported_function_keeps_its_sizes(dynamic: Any) -> None:
    (n,) = export.symbolic_shape("n")
    made = export.export(jax.jit(lambda x: x * 2))(jax.ShapeDtypeStruct((n,), jnp.float32))
    with pytest.raises(ArgumentError, match="sizes it was exported with"):
        to_onnx(made, dynamic_shapes=dynamic)
    with pytest.raises(ArgumentError, match="constraints it was exported with"):
        to_onnx(made, constraints=["n >= 2"])
    fixed = export.export(jax.jit(lambda x: x * 2))(jax.ShapeDtypeStruct((3,), jnp.float32))
    assert dims(to_onnx(fixed, dynamic_shapes={}).graph.input[0]) == [3]


@pytest.mark.parametrize(
    ("dtype", "narrow"),
    [("f8", "f4"), ("i8", "i4"), ("u8", "u4"), ("c16", "f4"), ("f4", "f4"), ("i2", "i2")],
)
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "array"])
def test_arrays_of_64_bits_are_narrowed_as_jax_does(
    dtype: str, narrow: str, declared: bool
) -> None:
    def function(x: Any) -> Any:
        return x * 2 + 1

    x = np.arange(1, 4).astype(dtype)
    args = jax.ShapeDtypeStruct(x.shape, x.dtype) if declared else x
    model = to_onnx(function, (args,), dynamic_shapes={})
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.helper.np_dtype_to_tensor_dtype(
        np.dtype(narrow)
    )
    with jax.enable_x64(True):
        wide = to_onnx(function, (args,), dynamic_shapes={})
    whole = np.dtype("f8" if dtype == "c16" else dtype)
    assert wide.graph.input[0].type.tensor_type.elem_type == onnx.helper.np_dtype_to_tensor_dtype(
        whole
    )
    if x.dtype.kind != "c":
        (got,) = run(model, (x.astype(narrow),))
        np.testing.assert_array_equal(got, np.asarray(function(jnp.asarray(x))))


def test_a_call_that_does_not_fit_is_told_from_an_error_inside() -> None:
    def function(x: jax.Array, *, scale: jax.Array) -> jax.Array:
        return x * scale

    x = normal(3)
    with pytest.raises(ArgumentError, match=r"1 by position .*missing .*'scale'"):
        to_onnx(function, (x,))
    with pytest.raises(ArgumentError, match="too many positional arguments"):
        to_onnx(function, (x, x))
    assert len(to_onnx(function, (x,), kwargs={"scale": x}).graph.input) == 2
    with pytest.raises(TraceError, match="raised TypeError"):
        to_onnx(lambda x: x + "text", (x,))


def test_random_keys_are_inputs_closed_over_or_taken_as_data() -> None:
    x, key = normal(3), jax.random.key(0)

    def function(key: jax.Array, x: jax.Array) -> jax.Array:
        return x + jax.random.bits(key, x.shape).astype(jnp.float32)

    wanted = np.asarray(function(key, x))
    typed = to_onnx(function, (key, x))
    assert [i.name for i in typed.graph.input] == ["key", "x"]
    assert [d.dim_value for d in typed.graph.input[0].type.tensor_type.shape.dim] == [2]
    given = np.asarray(jax.random.key_data(key))
    np.testing.assert_array_equal(run(typed, (given, x))[0], wanted)
    (closed,) = run(to_onnx(lambda x: function(key, x), (x,), dynamic_shapes={}), (x,))
    np.testing.assert_array_equal(closed, wanted)
    data = np.asarray(jax.random.key_data(key))
    model = to_onnx(
        lambda d, x: function(jax.random.wrap_key_data(d), x), (data, x), dynamic_shapes={}
    )
    np.testing.assert_array_equal(run(model, (data, x))[0], wanted)


def test_unused_input_and_input_as_output() -> None:
    x, unused = normal(2), normal(3)
    model = to_onnx(lambda x, unused: (x, x, jnp.arange(2)), (x, unused), dynamic_shapes={})
    assert [i.name for i in model.graph.input] == ["x", "unused"]
    first, second, count = run(model, (x, unused))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(count, [0, 1])


def test_closed_over_weights_are_initializers() -> None:
    w = normal(4, 3)
    model = to_onnx(lambda x: x @ w, (normal(2, 4),))
    assert operators(model) == ["MatMul"]
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(model.graph.initializer[0]), w)


def test_two_conversions_are_the_same() -> None:
    models = [to_onnx(tree, arguments(), dynamic_shapes={}) for _ in range(2)]
    assert models[0].SerializeToString() == models[1].SerializeToString()


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    to_onnx(jnp.sin, (normal(2),), filename=path)
    assert operators(onnx.load(path)) == ["Sin"]


def test_x64() -> None:
    with jax.enable_x64(True):
        x = normal(3, dtype=np.float64)
        model = to_onnx(lambda x: (x * 2, jnp.arange(3)), (x,), dynamic_shapes={})
    assert [o.type.tensor_type.elem_type for o in model.graph.output] == [11, 7]


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="fn is a JAX function"):
        to_onnx(3, ())  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="axes that exist"):
        to_onnx(jnp.sin, (normal(2),), dynamic_shapes=({3: "n"},))
    with pytest.raises(ArgumentError, match="same name means the same size"):
        to_onnx(jnp.add, (normal(2), normal(3)), dynamic_shapes=({0: "n"}, {0: "n"}))
    with pytest.raises(ArgumentError, match="one distinct name"):
        to_onnx(jnp.sin, (normal(2),), input_names=["a", "b"])
    with pytest.raises(ArgumentError, match="arrays of numbers"):
        to_onnx(jnp.sin, (np.array(["text"]),))
    with pytest.raises(ArgumentError, match=r"the key '' in d\[''\]"):
        to_onnx(lambda d: d[""], ({"": normal(2)},))


def test_function_that_fails() -> None:
    def broken(x: jax.Array) -> jax.Array:
        return x @ x

    with pytest.raises(TraceError, match=r"'broken' on .*x.*which raised") as caught:
        to_onnx(broken, (normal(2, 3),), dynamic_shapes={})
    assert caught.value.__cause__ is not None


def test_tensorflow_is_not_needed() -> None:
    script = (
        "import sys; sys.modules['tensorflow'] = None; sys.modules['keras'] = None\n"
        "import numpy as np, jax.numpy as jnp\n"
        "from yobx.jax import to_onnx\n"
        "print(to_onnx(lambda x: jnp.sin(x), (np.ones(3, np.float32),)).graph.node[0].op_type)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "Sin"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("int2", "Try target_opset=25, or another type."),
        ("uint2", "Try target_opset=25, or another type."),
        ("float4_e2m1fn", "Try target_opset=23, or another type."),
        ("float8_e3m4", "Try another type."),
    ],
)
def test_a_type_that_the_opset_does_not_have(name, advice):
    def narrow(x):
        return x.astype(getattr(jnp, name)).astype(jnp.float32)

    with pytest.raises(UnsupportedDtypeError) as caught:
        to_onnx(narrow, (np.ones((2, 3), np.float32),))
    told = str(caught.value)
    assert told.startswith(
        f"A value has a type that opset 21 of ONNX has. Received: {name}, of stablehlo.convert at "
    )
    assert f"{Path(__file__).name}:" in told
    assert told.endswith(advice)
    with pytest.raises(UnsupportedDtypeError, match=f"Received: {name}, of an input"):
        to_onnx(lambda x: x.astype(jnp.float32), (jnp.zeros(3, getattr(jnp, name)),))


def test_an_error_of_lowering_names_the_line_of_the_operation():
    def called_back(x):
        return jax.pure_callback(np.negative, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(TraceError) as caught:
        to_onnx(called_back, (np.ones((2, 3), np.float32),), dynamic_shapes=({0: "n"},))
    assert f"{Path(__file__).name}:" in str(caught.value)
    assert ", in called_back. The sizes n are symbolic" in str(caught.value)
