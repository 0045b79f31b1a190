"""Whole models: reading, malformed ones, anonymous sizes, writing back."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnx_optim.running import dims, infer, parse
from yobx.errors import ArgumentError, InvalidModelError, ShapeError
from yobx.onnx_optim import OptimDim, ShapesContext, TensorType, compute_shapes, infer_shapes


def shape_of(value: onnx.ValueInfoProto) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def test_outputs_and_inner_values_are_written_in_node_order() -> None:
    model = parse("""
        g (float[n, 4] x) => (y) {
          a = Relu (x)  s = Shape (a)  b = Concat <axis = 0> (a, x)  y = Neg (b)
        }""")
    before = model.SerializeToString()
    written = infer_shapes(model)
    assert model.SerializeToString() == before
    assert [v.name for v in written.graph.value_info] == ["a", "s", "b"]
    assert shape_of(written.graph.output[0]) == ["2*n", 4]
    assert infer_shapes(written) == written
    onnx.checker.check_model(written, full_check=True)
    same = infer_shapes(model, inplace=True)
    assert same is model
    assert same == written


def test_long_names_and_many_values_are_encoded_right() -> None:
    names = ["x", *("v" * 50 * i for i in (1, 2, 3, 60))]
    nodes = [helper.make_node("Relu", [a], [b]) for a, b in pairwise(names)]
    value = helper.make_tensor_value_info
    wide = [f"dimension_{i}" for i in range(30)]
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, wide)],
        [value(names[-1], TensorProto.FLOAT, None)],
    )
    written = infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))
    assert [v.name for v in written.graph.value_info] == names[1:-1]
    assert all(shape_of(v) == wide for v in written.graph.value_info)


def test_unnamed_input_sizes_get_reserved_names() -> None:
    model = parse("g (float[?, x_d0] x, float[?] w) => (y) { y = Concat <axis = 0> (x, x) }")
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].Clear()
    written = infer_shapes(model)
    assert shape_of(written.graph.input[0]) == ["x_d0_2", "x_d0"]
    assert shape_of(written.graph.input[1]) == ["w_d0"]
    assert shape_of(written.graph.output[0]) == ["2*x_d0_2", "x_d0"]


def test_any_dim_param_is_kept_verbatim() -> None:
    model = parse('g (float["batch size", "2x"] x) => (y) { y = Concat <axis = 0> (x, x) }')
    written = infer_shapes(model)
    assert shape_of(written.graph.input[0]) == ["batch size", "2x"]
    first, second = shape_of(written.graph.output[0])
    assert second == "2x"
    assert OptimDim(first).evaluate({"batch size": 3}) == 6


def test_negative_sizes_are_unnamed() -> None:
    model = parse("g (float[n, 4] x) => (y) { y = Relu (x) }")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert dims(infer(model), "y") == ["x_d0", 4]


def test_sequence_optional_and_map_types_are_written() -> None:
    model = parse("""
        g (float[n, 4] x) => (s, o) {
          s = SequenceConstruct (x, x)  o = Optional (x)  p = Optional (s)
        }""")
    for value in model.graph.output:
        value.ClearField("type")
    written = infer_shapes(model)
    sequence, optional = written.graph.output
    inner = sequence.type.sequence_type.elem_type.tensor_type
    assert [d.dim_param or d.dim_value for d in inner.shape.dim] == ["n", 4]
    inner = optional.type.optional_type.elem_type.tensor_type
    assert inner.elem_type == TensorProto.FLOAT
    kinds = {v.name: v.type.WhichOneof("value") for v in written.graph.value_info}
    assert kinds["p"] == "optional_type"


def test_map_types_are_written() -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])],
        "g",
        [value("x", TensorProto.FLOAT, ["n", 2])],
        [onnx.ValueInfoProto(name="z")],
    )
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    context = ShapesContext()
    written = infer_shapes(helper.make_model(graph, opset_imports=imports), context=context)
    assert context.get("z").dtype == TensorType.kSeqMapInt64Float
    assert list(map(str, context.get("z").shape)) == ["n"]
    inside = written.graph.output[0].type.sequence_type.elem_type.map_type
    assert inside.key_type == TensorProto.INT64
    assert inside.value_type.tensor_type.elem_type == TensorProto.FLOAT


def test_subgraph_values_are_written() -> None:
    model = parse("""
        g (bool c, float[n, 4] x) => (y) {
          y = If (c) <
            then_branch = t () => (a) { r = Neg (x)  a = Concat <axis = 0> (r, x) },
            else_branch = e () => (b) { b = Relu (x) }>
        }""")
    written = infer_shapes(model)
    branches = {a.name: a.g for a in written.graph.node[0].attribute}
    assert [v.name for v in branches["then_branch"].value_info] == ["r"]
    assert shape_of(branches["then_branch"].output[0]) == ["2*n", 4]
    assert shape_of(branches["else_branch"].output[0]) == ["n", 4]


def test_equalities_are_used_when_writing() -> None:
    model = parse("""
        g (float[n, k] x, float[m, 4] w) => (y, z) { y = MatMul (x, w)  z = Relu (x) }""")
    written = infer_shapes(model)
    names = shape_of(written.graph.output[1])
    assert len(names) == 2
    assert names[0] == "n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g (float[n] x) => (b) { a = Relu (b)  b = Relu (a) }", "in a cycle"),
        ("g (float[n] x) => (b) { b = Relu (nowhere) }", "Received: 'nowhere'"),
        ("g (float[n] x) => (b) { b = Relu (x)  b = Neg (x) }", "a second one of 'b'"),
        ("g (float[n] x) => (b) { a = Relu (x) }", "Received: 'b', which no node"),
        ("g (float[n] x, float[m] x) => (b) { b = Relu (x) }", "'x' twice"),
    ],
)
def test_malformed_graphs_get_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        infer(parse(text))


def test_nodes_out_of_order_are_inferred_in_order() -> None:
    model = parse("""
        g (bool k, float[n, 4] x) => (c) {
          c = If (k) <then_branch = t () => (p) { p = Neg (b) },
                      else_branch = e () => (q) { q = Relu (a) }>
          b = Concat <axis = 0> (a, a)
          a = Relu (x)
        }""")
    context = infer(model)
    assert dims(context, "b") == ["2*n", 4]
    assert dims(context, "c") == ["If_c_d0", 4]
    assert context.has_subgraph_context(0, "then_branch")


def test_a_wrong_attribute_type_is_named() -> None:
    model = parse("g (float[n, 4] x) => (y) { y = Concat <axis = 1.5> (x, x) }")
    with pytest.raises(ShapeError, match="'axis' of Concat must be of type INT, it is FLOAT"):
        infer(model)


def test_files(tmp_path: Path) -> None:
    model = parse("g (float[n, 4] x) => (y) { y = Relu (x) }")
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert shape_of(infer_shapes(path).graph.output[0]) == ["n", 4]
    assert shape_of(infer_shapes(str(path)).graph.output[0]) == ["n", 4]
    data = path.read_bytes()
    for cut in range(1, len(data), 7):
        broken = tmp_path / "cut.onnx"
        broken.write_bytes(data[:cut])
        with pytest.raises((InvalidModelError, ShapeError)):
            infer_shapes(broken)
    with pytest.raises(ArgumentError, match="must be readable"):
        infer_shapes(tmp_path / "missing.onnx")
    with pytest.raises(InvalidModelError, match="must have a graph"):
        infer_shapes(onnx.ModelProto())
    with pytest.raises(ArgumentError, match="ModelProto or the path"):
        infer_shapes(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("location", ["weights.bin", "../../etc/passwd", "/etc/passwd"])
def test_external_data_are_never_read(tmp_path: Path, location: str) -> None:
    model = parse("g (float[n, 4] x) => (y) { y = MatMul (x, w) }")
    tensor = model.graph.initializer.add(
        name="w", data_type=TensorProto.FLOAT, dims=[4, 7], data_location=TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value=location)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert shape_of(infer_shapes(path).graph.output[0]) == ["n", 7]


def test_initializers() -> None:
    model = parse("g (float[n, 6] x) => (y) { y = Reshape (x, t) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 2, 3]), "t"))
    assert dims(infer(model), "y") == ["n", 2, 3]
    # Listed as an input too, it is only a default: callers may pass another one.
    model.graph.input.append(helper.make_tensor_value_info("t", TensorProto.INT64, [3]))
    found = dims(infer(model), "y")
    assert found is not None
    assert found != ["n", 2, 3]
    model.ir_version = 3
    assert dims(infer(model), "y") == ["n", 2, 3]


def test_big_initializers_are_not_decoded() -> None:
    model = parse("g (float[n, 512] x) => (y) { y = MatMul (x, w) }")
    weight = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[512, 10**6])
    weight.raw_data = b"\0"  # far too short: decoding it would fail
    assert dims(infer(model), "y") == ["n", 10**6]


def test_input_shapes_may_be_given() -> None:
    model = parse("g (float[n, 4] x) => (y) { y = Relu (x) }")
    written = infer_shapes(model, input_shapes={"x": [2, "k"]})
    assert shape_of(written.graph.output[0]) == [2, "k"]
    with pytest.raises(ArgumentError, match="'z'; the inputs are x"):
        infer_shapes(model, input_shapes={"z": [1]})


def test_sequence_and_optional_inputs() -> None:
    model = parse("""
        g (seq(float[n, 4]) s, optional(float[k]) o) => (y, z) {
          i = Constant <value_int = 0> ()  y = SequenceAt (s, i)  z = OptionalGetElement (o)
        }""")
    context = infer(model)
    assert dims(context, "y") == ["n", 4]
    assert dims(context, "z") == ["k"]
    assert context.has_optional("o")
    assert context.get_optional("o").present.value == "maybe"


def test_compute_shapes_accepts_a_graph_and_refuses_others() -> None:
    context = ShapesContext({"": 20})
    compute_shapes(context, parse("g (float[n, 4] x) => (y) { y = Relu (x) }").graph)
    assert dims(context, "y") == ["n", 4]
    with pytest.raises(ArgumentError, match="Received: str"):
        compute_shapes(context, "model")  # type: ignore[arg-type]


def test_random_bytes_never_crash(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = bytearray(
        parse("""
        g (float[n, 4] x) => (y) { s = Shape (x)  r = Reshape (x, s)  y = Concat <axis = 1> (r, r) }
    """).SerializeToString()
    )
    path = tmp_path / "noise.onnx"
    for _ in range(300):
        noisy = bytearray(data)
        for position in rng.integers(0, len(data), size=3):
            noisy[position] = int(rng.integers(0, 256))
        path.write_bytes(bytes(noisy))
        try:
            infer_shapes(path)
        except (InvalidModelError, ShapeError):
            continue


def test_sizes_that_no_message_can_hold_are_left_open() -> None:
    model = parse("g (float[4611686018427387904, 3] x) => (y) { y = Concat <axis = 0> (x, x) }")
    written = infer_shapes(model)
    dims_written = written.graph.output[0].type.tensor_type.shape.dim
    assert [d.WhichOneof("value") for d in dims_written] == [None, "dim_value"]


@pytest.mark.filterwarnings("ignore:The onnxtxt format")
@pytest.mark.parametrize("suffix", [".textproto", ".onnxtxt", ".onnxjson", ".onnx"])
def test_damaged_files_of_every_format_get_one_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_text("zzz")
    with pytest.raises(InvalidModelError, match="whole ONNX model"):
        infer_shapes(path)


def test_stored_integers_that_do_not_fit_their_shape_are_not_read() -> None:
    model = parse("g (float[n, 3] x) => (y) { y = Reshape (x, w) }")
    model.graph.initializer.add(name="w", data_type=TensorProto.INT64, dims=[2], raw_data=b"123")
    assert infer(model).get("y").rank() == 2


def test_constants_of_different_rank_are_not_joined() -> None:
    model = parse("""
        g () => (y) <int64[1] a = {1}, int64[1, 1] b = {2}> { y = Concat <axis = 0> (a, b) }""")
    with pytest.raises(ShapeError, match="ranks 1 and 2"):
        infer(model)
