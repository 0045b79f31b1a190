"""Tensors made from values: constants, ranges, shapes, windows, random numbers."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from yobx.onnx_optim import OptimDim, ShapesContext, TensorType, compute_shapes

BIG = 2**31


@pytest.mark.parametrize(
    ("name", "value", "dtype", "shape"),
    [
        ("value_int", 3, TensorType.kInt64, []),
        ("value_ints", [3, 4], TensorType.kInt64, [2]),
        ("value_float", 3.0, TensorType.kFloat, []),
        ("value_floats", [3.0], TensorType.kFloat, [1]),
        ("value_string", "a", TensorType.kString, []),
        ("value_strings", ["a", "b"], TensorType.kString, [2]),
        (
            "value",
            numpy_helper.from_array(np.zeros((2, 3), np.float16)),
            TensorType.kFloat16,
            [2, 3],
        ),
    ],
)
def test_constant(check, name, value, dtype, shape):
    (found,) = check("Constant", [], **{name: value})
    assert (found.dtype, found.shape) == (dtype, shape)
    assert found.constant is not None


def test_constant_sparse():
    values = numpy_helper.from_array(np.array([1.0, 2.0], np.float32), "v")
    indices = numpy_helper.from_array(np.array([1, 4]), "i")
    sparse = helper.make_sparse_tensor(values, indices, [3, 2])
    context = ShapesContext({"": 21})
    compute_shapes(context, helper.make_node("Constant", [], ["y"], sparse_value=sparse))
    assert context.get("y").shape == [3, 2]


@pytest.mark.parametrize(
    ("start", "end"), list(itertools.product([None, 0, 1, -1, -9, 9], repeat=2))
)
def test_shape(check, runtime_input, start, end):
    given = {k: v for k, v in (("start", start), ("end", end)) if v is not None}
    check("Shape", [runtime_input(["n", 3, "m"])], **given)


def test_constant_of_shape(check, runtime_input):
    (found,) = check("ConstantOfShape", [np.array([2, 3])])
    assert found.constant.tolist() == [[0, 0, 0], [0, 0, 0]]
    filler = numpy_helper.from_array(np.array([7]))
    (found,) = check("ConstantOfShape", [np.array([2])], value=filler)
    assert found.value == (OptimDim(7), OptimDim(7))
    (found,) = check("ConstantOfShape", [np.array([], np.int64)], value=filler)
    assert found.shape == []
    check("ConstantOfShape", [runtime_input([2], T.INT64)], exact=False)


@pytest.mark.parametrize(
    ("start", "limit", "delta"),
    [
        (0, 5, 1),
        (0, 5, 2),
        (5, 0, -1),
        (5, 0, -2),
        (3, 3, 1),
        (5, 0, 1),
        (0, 5, -1),
        (-3, 4, 3),
        (0, 300, 1),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, np.float64])
def test_range(check, start, limit, delta, dtype):
    (found,) = check("Range", [np.array(x, dtype) for x in (start, limit, delta)])
    assert found.shape.is_fully_known()


@pytest.mark.parametrize("steps", [0.1, 0.3, 0.7, 1 / 3])
def test_range_of_floats(check, steps):
    check("Range", [np.array(x, np.float32) for x in (0, 7, steps)])


def test_unknown_range(check, runtime_input):
    check("Range", [np.array(0), runtime_input([], T.INT64, 0, 9), np.array(1)], exact=False)


@pytest.mark.parametrize(
    ("start", "limit", "delta", "wanted"),
    [
        ("0", "n", "1", "n"),
        ("0", "n", "2", "-(-n//2)"),
        ("n", "0", "-1", "n"),
        ("m", "n", "1", "max(n - m, 0)"),
        ("0", "n - 1", "1", "max(n - 1, 0)"),
    ],
)
def test_symbolic_range(start, limit, delta, wanted):
    """The limits are sizes; a range counts with a ceiling and never below 0."""
    from yobx.onnx_optim import OptimTensor

    context = ShapesContext({"": 21})
    for name, text in (("start", start), ("limit", limit), ("delta", delta)):
        context.set(name, OptimTensor(T.INT64, [], value=[text]))
    compute_shapes(context, helper.make_node("Range", ["start", "limit", "delta"], ["y"]))
    size = context.get("y").shape.dims()[0]
    assert size == OptimDim(wanted)
    for values in itertools.product(range(6), repeat=2):
        sizes = dict(zip("nm", values, strict=True))
        first, last, step = (OptimDim(text).evaluate(sizes) for text in (start, limit, delta))
        assert size.evaluate(sizes) == len(range(first, last, step))


@pytest.mark.parametrize("op_type", ["RandomNormal", "RandomUniform"])
def test_random(check, op_type):
    (found,) = check(op_type, [], shape=[2, 3], dtype=T.DOUBLE)
    assert (found.dtype, found.shape) == (TensorType.kDouble, [2, 3])


def test_multinomial(check, runtime_input):
    check("Multinomial", [runtime_input(["n", 4])], sample_size=7)


@pytest.mark.parametrize("op_type", ["BlackmanWindow", "HammingWindow", "HannWindow"])
def test_windows(check, runtime_input, op_type):
    check(op_type, [np.array(10)])
    check(op_type, [runtime_input([], T.INT64, 4, 5)], exact=False)


def test_mel_weight_matrix(check):
    inputs = [
        np.array(8),
        np.array(16),
        np.array(8192),
        np.array(0, np.float32),
        np.array(4000, np.float32),
    ]
    (found,) = check("MelWeightMatrix", inputs)
    assert found.shape == [9, 8]


def test_unknown_rank_gives_a_vector_of_unknown_length():
    context = ShapesContext({"": 21})
    graph = helper.make_graph(
        [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Size", ["x"], ["z"])],
        "g",
        [helper.make_tensor_value_info("x", T.FLOAT, None)],
        [onnx.ValueInfoProto(name="s")],
    )
    compute_shapes(context, graph)
    assert context.get("s").shape.rank() == 1
    assert context.get("z").shape == []
