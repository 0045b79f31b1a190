"""Sequences and optionals: descriptors, and whole graphs run by onnxruntime."""

import itertools

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, parser

from yobx.errors import ShapeError
from yobx.onnx_optim import (
    OptimDim,
    OptimOptional,
    OptimSequence,
    OptimShape,
    OptimTensor,
    ShapesContext,
    TensorType,
    compute_shapes,
)
from yobx.onnx_optim.optim_sequence import Presence

A = OptimTensor(T.FLOAT, ["n", 3])
B = OptimTensor(T.FLOAT, ["m", 3])


def infer(op_type, *inputs, outputs=1, **attributes):
    context = ShapesContext({"": 24})
    names = []
    for index, item in enumerate(inputs):
        names.append("" if item is None else f"i{index}")
        if item is not None:
            context.set_value(f"i{index}", item)
    node = helper.make_node(op_type, names, [f"o{i}" for i in range(outputs)], **attributes)
    compute_shapes(context, node)
    return context.lookup("o0")


def at(position):
    return OptimTensor(T.INT64, [], value=[position])


def test_construct_and_empty():
    assert infer("SequenceConstruct", A, B) == OptimSequence(T.FLOAT, [["n", 3], ["m", 3]])
    assert infer("SequenceEmpty", dtype=T.INT64) == OptimSequence(T.INT64, [])
    with pytest.raises(ShapeError):
        infer("SequenceConstruct", A, OptimTensor(T.INT64, [2]))


def test_length():
    assert infer("SequenceLength", infer("SequenceConstruct", A, B)).value == (OptimDim(2),)
    assert infer("SequenceLength", OptimSequence(T.FLOAT, length="k")).value == (OptimDim("k"),)
    assert infer("SequenceLength", OptimSequence(T.FLOAT)).value is None


def test_at():
    pair = infer("SequenceConstruct", A, B)
    assert infer("SequenceAt", pair, at(1)).shape == ["m", 3]
    assert infer("SequenceAt", pair, at(-2)).shape == ["n", 3]
    unknown = infer("SequenceAt", pair, OptimTensor(T.INT64, []))
    assert unknown.shape.rank() == 2
    assert unknown.shape.dims()[1] == OptimDim(3)
    mixed = infer("SequenceConstruct", A, OptimTensor(T.FLOAT, ["n"]))
    assert not infer("SequenceAt", mixed, OptimTensor(T.INT64, [])).shape.has_rank()
    assert infer("SequenceAt", OptimSequence(T.FLOAT, elem_shape=["n"]), at(5)).shape == ["n"]
    with pytest.raises(ShapeError):
        infer("SequenceAt", pair, at(2))


def test_insert_and_erase():
    pair = infer("SequenceConstruct", A, B)
    one = OptimTensor(T.FLOAT, [1])
    assert infer("SequenceInsert", pair, one).elem_shapes[2] == OptimShape([1])
    assert infer("SequenceInsert", pair, one, at(0)).elem_shapes[0] == OptimShape([1])
    assert infer("SequenceInsert", pair, one, at(-1)).elem_shapes[1] == OptimShape([1])
    anywhere = infer("SequenceInsert", pair, one, OptimTensor(T.INT64, []))
    assert (anywhere.length, anywhere.has_elem_shapes()) == (OptimDim(3), False)
    assert infer("SequenceErase", pair, at(0)).elem_shapes == (OptimShape(["m", 3]),)
    assert infer("SequenceErase", pair).elem_shapes == (OptimShape(["n", 3]),)
    long = OptimSequence(T.FLOAT, length="k", elem_shape=["n"])
    grown = infer("SequenceInsert", long, OptimTensor(T.FLOAT, ["n"]))
    assert (grown.length, grown.elem_shape) == (OptimDim("k+1"), OptimShape(["n"]))
    assert infer("SequenceErase", long).length == OptimDim("k-1")
    assert not infer("SequenceInsert", long, one).elem_shape.has_rank()


def test_concat_from_sequence():
    pair = infer("SequenceConstruct", A, B)
    assert infer("ConcatFromSequence", pair, axis=0).shape == ["n+m", 3]
    same = infer("SequenceConstruct", A, A)
    assert infer("ConcatFromSequence", same, axis=1, new_axis=1).shape == ["n", 2, 3]
    assert infer("ConcatFromSequence", same, axis=-1, new_axis=1).shape == ["n", 3, 2]
    long = OptimSequence(T.FLOAT, length="k", elem_shape=["n", 3])
    assert infer("ConcatFromSequence", long, axis=0).shape == ["k*n", 3]
    assert infer("ConcatFromSequence", long, axis=0, new_axis=1).shape == ["k", "n", 3]
    assert not infer("ConcatFromSequence", OptimSequence(T.FLOAT), axis=0).shape.has_rank()


def test_split_to_sequence():
    wide = OptimTensor(T.FLOAT, ["n", 7])
    assert infer("SplitToSequence", wide, axis=1).length == OptimDim(7)
    flat = infer("SplitToSequence", wide, axis=1, keepdims=0)
    assert flat.elem_shapes[0] == OptimShape(["n"])
    # With one size for all, onnxruntime takes the keepdims that the standard ignores.
    disputed = infer("SplitToSequence", wide, at(1), axis=1, keepdims=0)
    assert (disputed.length, disputed.has_elem_shapes()) == (OptimDim(7), False)
    assert disputed.elem_dims is None
    parts = infer("SplitToSequence", wide, at(3), axis=1)
    assert [shape.dims()[1].as_int() for shape in parts.elem_shapes] == [3, 3, 1]
    listed = infer("SplitToSequence", wide, OptimTensor(T.INT64, [2], value=[5, 2]), axis=1)
    assert [shape.dims()[1].as_int() for shape in listed.elem_shapes] == [5, 2]
    rows = infer("SplitToSequence", wide)
    assert (rows.length, rows.elem_shape) == (OptimDim("n"), OptimShape([1, 7]))
    assert infer("SplitToSequence", wide, at(2)).length == OptimDim("-(-n//2)")
    assert infer("SplitToSequence", wide, OptimTensor(T.INT64, ["k"])).length == OptimDim("k")
    with pytest.raises(ShapeError):
        infer("SplitToSequence", wide, OptimTensor(T.INT64, [2], value=[5, 3]), axis=1)


def test_optionals():
    some = infer("Optional", A)
    assert some == OptimOptional(A, Presence.YES)
    kind = helper.make_tensor_type_proto(T.FLOAT, [2])
    none = infer("Optional", type=kind)
    assert none.present is Presence.NO
    assert infer("OptionalHasElement", some).value == (OptimDim(1),)
    assert infer("OptionalHasElement", none).value == (OptimDim(0),)
    assert infer("OptionalHasElement").value == (OptimDim(0),)
    maybe = OptimOptional(A, Presence.MAYBE)
    assert infer("OptionalHasElement", maybe).value is None
    assert infer("OptionalGetElement", maybe) == A
    assert infer("OptionalGetElement", A) == A
    with pytest.raises(ShapeError):
        infer("OptionalGetElement", none)
    pair = infer("SequenceConstruct", A, B)
    assert infer("OptionalGetElement", infer("Optional", pair)) == pair


GRAPHS = [
    "s = SequenceConstruct(x, y) z = ConcatFromSequence<axis=0>(s)",
    "s = SequenceConstruct(x, x) z = ConcatFromSequence<axis=0, new_axis=1>(s)",
    "s = SplitToSequence<axis=1, keepdims=0>(x) z = ConcatFromSequence<axis=0, new_axis=1>(s)",
    "s = SplitToSequence<axis=0>(x) z = ConcatFromSequence<axis=1>(s)",
    "k = Constant<value_int=2>() s = SplitToSequence(x, k) l = SequenceLength(s) z = Cast<to=1>(l)",
    "s = SequenceConstruct(x, y) t = SequenceInsert(s, x) z = ConcatFromSequence<axis=0>(t)",
    "s = SequenceConstruct(x, y) t = SequenceErase(s) l = SequenceLength(t) z = Cast<to=1>(l)",
    "k = Constant<value_int=-1>() s = SequenceConstruct(x, y) z = SequenceAt(s, k)",
    "o = Optional(x) z = OptionalGetElement(o)",
]


@pytest.mark.parametrize("body", GRAPHS)
def test_graphs_against_a_run(body):
    import onnxruntime

    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> '
        f"g (float[n, 3] x, float[m, 3] y) => (float z) {{ {body} }}"
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    context = ShapesContext()
    compute_shapes(context, model)
    stated = context.get("z")
    assert (stated.dtype, stated.shape.has_rank()) == (TensorType.kFloat, True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    for n, m in itertools.product((1, 2, 5), repeat=2):
        feeds = {"x": np.zeros((n, 3), np.float32), "y": np.zeros((m, 3), np.float32)}
        wanted = {item.name for item in model.graph.input}
        (got,) = session.run(None, {key: feeds[key] for key in wanted})
        assert [dim.evaluate({"n": n, "m": m}) for dim in stated.shape.dims()] == list(got.shape)
        if stated.constant is not None:
            assert stated.constant == got


def test_parts_of_size_0_say_nothing_of_their_number():
    wide = OptimTensor(T.FLOAT, ["n", 7])
    assert infer("SplitToSequence", wide, at(0)).length is None
    assert infer("SplitToSequence", wide, at(-2)).length is None
