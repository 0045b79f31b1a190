"""The examples of the specification, and what every option of ``to_onnx`` does."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data, dims, names_of
from yobx.errors import (
    ArgumentError,
    ConversionError,
    TraceError,
    UnsupportedDtypeError,
    UnsupportedOpError,
)
from yobx.tensorflow import register as registry
from yobx.tensorflow import to_onnx
from yobx.tensorflow.register import TF_OP_CONVERTERS, register_tf_op_converter


def _dense(units: int = 2) -> Any:
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(units, name="head")])


def test_quick_example() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras advises against input_shape
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Dense(8, activation="relu", input_shape=(4,)),
                tf.keras.layers.Dense(2),
            ]
        )
    X = np.random.rand(5, 4).astype(np.float32)
    onx = to_onnx(model, (X,))
    assert isinstance(onx, onnx.ModelProto)
    agree(onx, [model(X)], X)
    agree(onx, [model(X[:1])], X[:1])


def test_custom_relu_example() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu", input_shape=(3,))])
    X = np.random.rand(5, 3).astype(np.float32)
    calls = []

    def custom_relu(g, sts, outputs, op):
        """Replace Relu with a Clip(0, 1) to saturate outputs at 1."""
        import numpy as np

        assert sts == {}
        calls.append(op.type)
        return g.op.Clip(
            op.inputs[0].name,
            np.array(0.0, dtype=np.float32),
            np.array(1.0, dtype=np.float32),
            outputs=outputs[:1],
            name=op.name,
        )

    onx = to_onnx(model, (X,), extra_converters={"Relu": custom_relu})
    assert calls == ["Relu"]
    kernel, bias = model.get_weights()
    agree(onx, [np.clip(X @ kernel + bias, 0, 1)], X)


def test_sum_example(monkeypatch: pytest.MonkeyPatch) -> None:
    from onnx import TensorProto

    from yobx.tensorflow.ops import register

    register()
    monkeypatch.setattr(registry, "_REGISTRATIONS", dict(registry._REGISTRATIONS))
    monkeypatch.delitem(TF_OP_CONVERTERS, "Sum")
    monkeypatch.setattr(registry, "TF_OP_CONVERTERS", TF_OP_CONVERTERS)

    @register_tf_op_converter("Sum")
    def convert_reduce_sum(g, sts: dict, outputs: list, op) -> str:
        """TF ``Sum`` -> ONNX ``ReduceSum``."""
        keepdims = int(op.get_attr("keep_dims"))
        axes_i64 = g.op.Cast(op.inputs[1].name, to=TensorProto.INT64, name=f"{op.name}_cast")
        axes = g.op.Reshape(axes_i64, np.array([-1], dtype=np.int64), name=f"{op.name}_axes")
        return g.op.ReduceSum(
            op.inputs[0].name, axes, keepdims=keepdims, outputs=outputs, name=op.name
        )

    X = data(5, 4)
    onx = to_onnx(lambda x: tf.reduce_sum(x, axis=1, keepdims=True), (X,))
    agree(onx, [X.sum(axis=1, keepdims=True)], X, rtol=1e-4)


def test_converter_with_verbose() -> None:
    seen = []

    def relu(g, sts, outputs, op, verbose=0):
        seen.append(verbose)
        return g.op.Relu(op.inputs[0].name, outputs=outputs)

    to_onnx(tf.nn.relu, (data(2),), extra_converters={"Relu": relu})
    to_onnx(tf.nn.relu, (data(2),), extra_converters={"Relu": relu}, verbose=2)
    assert seen == [0, 2]


def test_a_misspelt_converter_is_refused():
    def relu(g, sts, outputs, op):
        return g.op.Relu(op.inputs[0].name, outputs=outputs)

    # Tanh is an operation of TensorFlow: one dict may serve several models.
    shared = {"Tanh": relu, "stablehlo.tanh": relu}
    to_onnx(tf.nn.relu, (data(2),), extra_converters=shared)
    with pytest.raises(
        ArgumentError, match=r"Received: 'Reluu', .* did you mean 'Relu'\?"
    ) as caught:
        to_onnx(tf.nn.relu, (data(2),), extra_converters={**shared, "Reluu": relu})
    assert caught.value.argument == "extra_converters"


def test_values_and_initializers_keep_the_names_of_the_model() -> None:
    model = _dense()
    onx = to_onnx(model, (data(5, 4),), passes=())
    assert names_of(onx) == ([model.inputs[0]._keras_history.operation.name], ["head"])
    assert {i.name for i in onx.graph.initializer} == {v.path for v in model.variables}


def test_provenance_names_the_layer() -> None:
    model = _dense()
    onx = to_onnx(model, (data(5, 4),), passes=())
    node = next(node for node in onx.graph.node if node.op_type == "MatMul")
    facts = {entry.key: entry.value for entry in node.metadata_props}
    assert facts["yobx.op"] == "MatMul"
    assert facts["yobx.layer"] == f"{model.name}/head"
    assert facts["yobx.name"].endswith("MatMul")


def test_default_axis_is_dynamic_and_shared() -> None:
    onx = to_onnx(lambda x, y: x + y, (data(5, 4), data(5, 4, seed=1)))
    assert [dims(i) for i in onx.graph.input] == [["batch", 4], ["batch", 4]]
    assert dims(onx.graph.output[0]) == ["batch", 4]


def test_dynamic_shapes_of_the_specification() -> None:
    onx = to_onnx(_dense(), (data(5, 4),), dynamic_shapes=({0: "rows"},))
    assert dims(onx.graph.input[0]) == ["rows", 4]
    assert dims(onx.graph.output[0]) == ["rows", 2]
    onx = to_onnx(_dense(), (data(5, 4),), dynamic_shapes=({},))
    assert dims(onx.graph.input[0]) == [5, 4]


def test_specs_value_infos_and_no_arguments() -> None:
    model = _dense()
    info = onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, ["n", 4])
    onx = to_onnx(model, (info,))
    assert (names_of(onx)[0], dims(onx.graph.input[0])) == (["pixels"], ["n", 4])
    onx = to_onnx(model, (tf.TensorSpec((None, 4)),))
    assert dims(onx.graph.input[0]) == ["batch", 4]
    agree(to_onnx(model), [model(data(3, 4))], data(3, 4))


def test_input_names() -> None:
    onx = to_onnx(lambda x, y: x - y, (data(2), data(2)), input_names=["left", "right"])
    assert names_of(onx)[0] == ["left", "right"]
    with pytest.raises(ArgumentError, match="1 names"):
        to_onnx(lambda x, y: x - y, (data(2), data(2)), input_names=["left"])


def test_structure_of_inputs_and_outputs() -> None:
    def f(pair, scale):
        return {"sum": pair["a"] + pair["b"], "parts": [pair["a"] * scale, (pair["b"],)]}

    args = ({"b": data(2, seed=1), "a": data(2)}, data(1))
    onx = to_onnx(f, args)
    assert names_of(onx) == (["a", "b", "scale"], ["parts.0", "parts.1.0", "sum"])
    facts = {entry.key: json.loads(entry.value) for entry in onx.metadata_props}
    assert facts["yobx.inputs"]["dict"]["args"] == {
        "tuple": [{"dict": {"b": "b", "a": "a"}}, "scale"]
    }
    assert facts["yobx.outputs"] == {
        "dict": {"parts": {"list": ["parts.0", {"tuple": ["parts.1.0"]}]}, "sum": "sum"}
    }
    a, b, s = args[0]["a"], args[0]["b"], args[1]
    agree(onx, [a * s, b, a + b], a, b, s)


def test_unused_inputs_and_inputs_that_are_outputs() -> None:
    onx = to_onnx(lambda x, y: {"x": x, "twice": x}, (data(3), data(4, 2)))
    assert names_of(onx) == (["x", "y"], ["twice", "x_out"])
    agree(onx, [data(3), data(3)], data(3), data(4, 2))


def test_outputs_with_names_of_operators_and_variables() -> None:
    class Model(tf.Module):
        def __init__(self):
            self.scale = tf.Variable(data(3), name="Mul")

        @tf.function
        def __call__(self, x):
            chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x)
            return {"Identity": chosen, "Mul": x * self.scale, "Shape": tf.shape(x)}

    model = Model()
    onx = to_onnx(model, (data(2, 3),))
    assert names_of(onx)[1] == ["Identity", "Mul", "Shape"]
    agree(onx, [model(data(2, 3))[name] for name in names_of(onx)[1]], data(2, 3))


def test_target_opset() -> None:
    for opset in (18, 21, 22):
        onx = to_onnx(_dense(), (data(5, 4),), target_opset=opset)
        assert {o.domain: o.version for o in onx.opset_import}[""] == opset
    onx = to_onnx(_dense(), (data(5, 4),), target_opset={"": 20, "com.microsoft": 1})
    assert {o.domain: o.version for o in onx.opset_import}[""] == 20


def test_filename(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onx = to_onnx(_dense(), (data(5, 4),), filename=path)
    assert onnx.load(path) == onx


def test_verbose_shows_stages(capsys: pytest.CaptureFixture[str]) -> None:
    to_onnx(_dense(), (data(5, 4),), verbose=1)
    text = capsys.readouterr()
    assert "tracing: " in text.err
    assert "converting: " in text.err
    assert "converting operations" not in text.err  # a bar is for a terminal
    assert text.out == ""
    to_onnx(_dense(), (data(5, 4),))
    assert capsys.readouterr() == ("", "")


# -- what is refused ------------------------------------------------------------------------


def _unsupported(x: Any) -> Any:
    x = tf.raw_ops.BesselY0(x=x)
    for _ in range(5):
        x = tf.raw_ops.BesselY0(x=x)
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.raw_ops.BesselY1(x=x), lambda: x)


def test_every_unsupported_op_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"before")
    with pytest.raises(UnsupportedOpError) as caught:
        to_onnx(_unsupported, (data(2),), filename=path)
    text = str(caught.value)
    assert "BesselY0, 6 times" in text
    assert "and 2 more" in text
    assert "BesselY1, 1 time\n" in text
    assert "extra_converters={'BesselY0': convert}" in text
    assert "float32(None,)" in text
    assert {o.op_type for o in caught.value.occurrences} >= {"BesselY0", "BesselY1"}
    assert path.read_bytes() == b"before"


def test_unsupported_op_names_the_layer() -> None:
    class Strange(keras.layers.Layer):
        def call(self, x):
            return tf.raw_ops.BesselY0(x=x)

    model = keras.Sequential([keras.Input((4,)), Strange(name="strange")])
    with pytest.raises(UnsupportedOpError, match=f"in layer '{model.name}/strange'"):
        to_onnx(model)


def test_undeclared_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRATIONS", dict(registry._REGISTRATIONS))
    monkeypatch.setattr(
        registry, "TF_OP_CONVERTERS", TF_OP_CONVERTERS
    )  # the same dict: removed again below

    @register_tf_op_converter("BesselY0", dtypes=("float32",))
    def bessel_y0(g, sts, outputs, op):
        return g.op.Identity(op.inputs[0].name, outputs=outputs)

    try:
        x = np.ones((2,), np.float64)
        with pytest.raises(UnsupportedDtypeError, match="Supported: float32") as caught:
            to_onnx(lambda x: tf.raw_ops.BesselY0(x=x), (x,))
        assert caught.value.supported == ("float32",)
    finally:
        del TF_OP_CONVERTERS["BesselY0"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((data(5, 4), data(5, 4)), "one argument per input. Received: 2"),
        ((), "Received: 0"),
        (([[1.0, 2.0]],), r"constants, no tensors. 2 of them in args: try numpy.array"),
        ((np.zeros((5, 4), np.int64),), "takes float32"),
        ((np.array([["a"] * 4]),), "takes float32"),
        ((data(5, 4, 1),), "rank and the fixed sizes"),
        ((data(5, 3),), "rank and the fixed sizes"),
    ],
)
def test_arguments_that_do_not_fit(args: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        to_onnx(_dense(), args)


def test_positions_for_a_model_that_was_built_by_a_call() -> None:
    model = keras.Sequential([keras.layers.Embedding(7, 3), keras.layers.Flatten()])
    positions = np.array([[0, 6, 2]], np.int32)
    wanted = model(positions).numpy()
    assert model.inputs[0].dtype == "float32"  # Keras's guess
    onx = to_onnx(model, (positions,))
    assert onx.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT32
    agree(onx, [wanted], positions)


def test_unknown_axis_in_dynamic_shapes() -> None:
    with pytest.raises(ArgumentError, match="axis 2 for the input"):
        to_onnx(_dense(), (data(5, 4),), dynamic_shapes=({2: "n"},))


@pytest.mark.parametrize(
    "model", [keras.Sequential([keras.layers.Dense(2)]), keras.layers.Dense(2)]
)
def test_unbuilt_keras_model(model: Any) -> None:
    with pytest.raises(ArgumentError, match="is not built"):
        to_onnx(model, (data(5, 4),))
    assert not model.built


def test_model_that_raises_while_tracing(tmp_path: Path) -> None:
    def broken(x):
        return tf.reshape(x, (7, 7))

    with pytest.raises(TraceError, match=r"test_convert\.py:\d+: return tf\.reshape") as caught:
        to_onnx(broken, (data(2, 3),), dynamic_shapes=({},), filename=tmp_path / "m.onnx")
    assert isinstance(caught.value.__cause__, ValueError)
    assert not list(tmp_path.iterdir())


def test_layer_that_raises_while_tracing() -> None:
    class Broken(keras.layers.Layer):
        def call(self, x):
            raise RuntimeError("no reason")

    with pytest.raises(TraceError, match=r"RuntimeError: .*no reason.*raise RuntimeError"):
        to_onnx(Broken(), (data(2, 3),))


def test_variable_that_is_written() -> None:
    class Counter(tf.Module):
        def __init__(self):
            self.count = tf.Variable(0.0, name="count")

        @tf.function
        def __call__(self, x):
            self.count.assign_add(1.0)
            return x * self.count

    with pytest.raises(ConversionError, match=r"no variables to write.*'count:0'"):
        to_onnx(Counter(), (data(2),))


def test_converter_that_forgets_an_output() -> None:
    with pytest.raises(ConversionError, match="left out"):
        to_onnx(
            lambda x: tf.nn.relu(x) + 1.0,
            (data(2),),
            extra_converters={"Relu": lambda g, sts, outputs, op: g.op.Relu(op.inputs[0].name)},
        )


def test_converter_that_changes_the_dtype() -> None:
    def relu(g, sts, outputs, op):
        return g.op.Cast(op.inputs[0].name, to=7, outputs=outputs)

    with pytest.raises(ConversionError, match="keeps the dtype"):
        to_onnx(tf.nn.relu, (data(2),), extra_converters={"Relu": relu})


@pytest.mark.parametrize("model", [3, None, object(), "absent.keras", "absent_folder"])
def test_what_is_no_model(model: Any) -> None:
    with pytest.raises(ArgumentError):
        to_onnx(model, (data(2),))


def test_no_outputs() -> None:
    with pytest.raises(ConversionError, match="returns none"):
        to_onnx(lambda x: None, (data(2),))


def test_converter_that_changes_the_shape() -> None:
    def relu(g, sts, outputs, op):
        return g.op.Transpose(op.inputs[0].name, perm=[0, 2, 1], outputs=outputs)

    with pytest.raises(ConversionError, match="keeps the shape"):
        to_onnx(tf.nn.relu, (data(2, 3, 4),), extra_converters={"Relu": relu})


def test_exception_of_a_converter_says_where() -> None:
    def relu(g, sts, outputs, op):
        raise KeyError("lost")

    with pytest.raises(KeyError) as caught:
        to_onnx(tf.nn.relu, (data(2, 3),), extra_converters={"Relu": relu})
    assert caught.value.__notes__ == ["While converting Relu 'Relu'."]


def test_custom_operator_gets_the_type_that_tensorflow_knows() -> None:
    def bessel_y0(g, sts, outputs, op):
        inputs = [tensor.name for tensor in op.inputs]
        return g.make_node("BesselY0", inputs, outputs, domain="custom")

    onx = to_onnx(
        lambda x: tf.raw_ops.BesselY0(x=x) + 1.0,
        (data(5, 4),),
        extra_converters={"BesselY0": bessel_y0},
        target_opset={"": 21, "custom": 1},
    )
    assert [n.op_type for n in onx.graph.node] == ["BesselY0", "Add"]
    assert onx.graph.output[0].type.tensor_type.elem_type == 1
    assert len(dims(onx.graph.output[0])) == 2


def test_model_without_inputs() -> None:
    agree(to_onnx(lambda: tf.constant([1.0, 2.0]), ()), [np.float32([1, 2])])


def test_wrong_number_of_parameters() -> None:
    with pytest.raises(ArgumentError, match="missing a required argument: 'y'") as caught:
        to_onnx(lambda x, y: x + y, (data(2),))
    assert isinstance(caught.value.__cause__, TraceError)


def test_unknown_rank_says_what_to_pin() -> None:
    with pytest.raises(ArgumentError, match="'x' of unknown rank"):
        to_onnx(lambda x: x + 1.0, (tf.TensorSpec(None),))


def test_inside_a_graph() -> None:
    with tf.Graph().as_default(), pytest.raises(ConversionError, match="outside of any graph"):
        to_onnx(_dense, (data(2),))


def test_file_that_cannot_be_written() -> None:
    with pytest.raises(ConversionError, match=r"filename='/proc/m\.onnx'"):
        to_onnx(lambda x: x + 1.0, (data(2),), filename="/proc/m.onnx")


def test_class_instead_of_an_instance() -> None:
    with pytest.raises(ArgumentError, match="the class Dense"):
        to_onnx(keras.layers.Dense, (data(2),))
