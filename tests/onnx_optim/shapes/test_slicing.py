"""Slice, Pad and CenterCropPad against onnxruntime, on every small size."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from yobx.errors import ShapeError
from yobx.onnx_optim import OptimDim, ShapesContext, compute_shapes
from yobx.onnx_optim.shapes.slicing import slice_size

SIZES = [{"n": size} for size in range(8)]
BIG = 2**63 - 1
STARTS = [0, 1, 3, 6, -1, -2, -5, BIG, -BIG]
ENDS = [0, 1, 4, 6, -1, -3, BIG, -BIG]


def ints(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
@pytest.mark.parametrize("start", STARTS)
def test_slice_of_a_symbol(check, runtime_input, start, step):
    for end in ENDS:
        inputs = [runtime_input(["n"]), ints(start), ints(end), ints(0), ints(step)]
        check("Slice", inputs, sizes=SIZES, exact=step > 0, need_runs=8)


@pytest.mark.parametrize(
    ("start", "end", "step"), list(itertools.product(STARTS, ENDS, (1, 2, -1, -2)))
)
def test_slice_of_an_integer(check, runtime_input, start, end, step):
    check("Slice", [runtime_input([5]), ints(start), ints(end), ints(0), ints(step)], exact=False)


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [
        (0, 5, "min(n, 5)"),
        (1, BIG, "max(n - 1, 0)"),
        (-3, BIG, "min(n, 3)"),
        (0, -1, "max(n - 1, 0)"),
        (1, -1, "max(n - 2, 0)"),
        (0, BIG, "n"),
        (2, 4, "max(min(n, 4) - 2, 0)"),
    ],
)
def test_forms_are_readable(start, end, wanted):
    assert slice_size(OptimDim("n"), OptimDim(start), OptimDim(end), 1) == OptimDim(wanted)


def test_whole_reversal():
    assert slice_size(OptimDim("n"), OptimDim(-1), OptimDim(-BIG), -1) == OptimDim("n")


@pytest.mark.parametrize(
    ("start", "end"), list(itertools.product(["k", "-k", "k - 2", "n - k", "0", "n - 1"], repeat=2))
)
def test_symbolic_limits(start, end):
    """Against Python's own slices; the closed form of an open sign included."""
    size = slice_size(OptimDim("n"), OptimDim(start), OptimDim(end), 1)
    if size is None:
        return
    for n, k in itertools.product(range(6), repeat=2):
        values = {"n": n, "k": k}
        first, last = OptimDim(start).evaluate(values), OptimDim(end).evaluate(values)
        assert size.evaluate(values) == len(range(n)[first:last]), (n, k, str(size))


def test_attributes_of_the_first_version(check, runtime_input):
    (found,) = check("Slice", [runtime_input(["n", 5])], opset=9, starts=[1], ends=[3], axes=[1])
    assert found.shape == ["n", 2]
    check("Slice", [runtime_input(["n", 5])], opset=9, starts=[0, 1], ends=[2, 9])


def test_unknown_limits_have_a_bound(check, runtime_input):
    inputs = [
        runtime_input(["n", 5]),
        runtime_input([1], T.INT64),
        runtime_input([1], T.INT64),
        ints(1),
    ]
    (found,) = check("Slice", inputs, exact=False)
    assert found.shape.dims()[0] == OptimDim("n")
    inputs[3] = runtime_input([1], T.INT64, 0, 1)
    (found,) = check("Slice", inputs, exact=False)
    assert found.shape.dims()[0] != OptimDim("n")


def test_slice_of_a_value(check):
    (found,) = check("Slice", [ints(5, 6, 7, 8), ints(-1), ints(-BIG), ints(0), ints(-2)])
    assert found.constant.tolist() == [8, 6]


def test_step_zero_is_refused(check, runtime_input):
    with pytest.raises(ShapeError):
        check("Slice", [runtime_input([5]), ints(0), ints(3), ints(0), ints(0)])


def test_pad(check, runtime_input):
    (found,) = check("Pad", [runtime_input(["n", 3]), ints(1, 0, 2, 1)])
    assert found.shape == ["n+3", 4]
    check("Pad", [runtime_input(["n", 3])], opset=10, pads=[1, 0, 2, 1])
    (found,) = check("Pad", [runtime_input(["n", 3, "m"]), ints(1, 2), None, ints(-1)])
    assert found.shape == ["n", 3, "m+3"]
    check("Pad", [runtime_input(["n", 6]), ints(0, -1, 0, -2)])
    check("Pad", [runtime_input(["n", 3]), runtime_input([4], T.INT64)], exact=False)
    check("Pad", [runtime_input(["n+3", 5]), ints(1, 1, 1, 1)], mode="reflect")


def test_pad_of_a_value(check):
    (found,) = check("Pad", [ints(5, 6), ints(1, 2), np.array(9)])
    assert found.constant.tolist() == [9, 5, 6, 9, 9]
    (found,) = check("Pad", [ints(5, 6).astype(np.int32), ints(0, 1)])
    assert found.constant.tolist() == [5, 6, 0]
    assert found.constant.dtype == np.int32
    (found,) = check("Pad", [ints(5, 6, 7), ints(-1, 1)])
    assert found.constant is None
    (found,) = check("Pad", [ints(5, 6, 7), ints(1, 1)], mode="reflect")
    assert found.constant is None


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4])
def test_pad_of_a_value_of_a_type_that_numpy_joins_with_no_other(dtype):
    array = numpy_helper.from_array(np.array([1, 2], dtype), "x")
    pads = numpy_helper.from_array(ints(1, 1), "pads")
    found = helper.make_tensor_value_info("y", array.data_type, None)
    node = helper.make_node("Pad", ["x", "pads"], ["y"])
    graph = helper.make_graph([node], "net", [], [found], [array, pads])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    context = ShapesContext()
    compute_shapes(context, model)
    constant = context.get("y").constant
    assert constant is not None
    assert constant.dtype == dtype
    assert constant.tolist() == [0, 1, 2, 0]


def test_center_crop_pad(check, runtime_input):
    check("CenterCropPad", [runtime_input(["n", 3]), ints(4, 2)])
    (found,) = check("CenterCropPad", [runtime_input(["n", 3, "m"]), ints(4)], axes=[2])
    assert found.shape == ["n", 3, 4]
    check("CenterCropPad", [runtime_input(["n", 3]), ints(-1, 2)])
