"""Elementwise rules against onnxruntime: broadcasting, dtypes, values."""

import itertools

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import defs, helper, parser

from yobx.onnx_optim import OptimDim, OptimTensor, ShapesContext, TensorType, compute_shapes
from yobx.onnx_optim.shapes._arithmetic import BINARY, COMPARE, UNARY
from yobx.onnx_optim.shapes.elementwise import LIKE_FIRST

SPECIAL = {
    "CumProd": "needs an axis",
    "CumSum": "needs an axis",
    "InstanceNormalization": "needs scale and bias",
    "ReverseSequence": "needs lengths",
    "RotaryEmbedding": "needs caches",
    "TensorScatter": "needs an update",
    "LRN": "needs a size",
}


@pytest.mark.parametrize("op_type", sorted(set(LIKE_FIRST.split()) - SPECIAL.keys()))
def test_like_first(check, runtime_input, op_type):
    opset = max(21, defs.get_schema(op_type).since_version)
    dims = ["n", 3, "m", 2] if op_type == "MeanVarianceNormalization" else ["n", 3, "m"]
    (found,) = check(op_type, [runtime_input(dims)], opset=opset)
    assert found.shape == dims


def test_like_first_with_more_inputs(check, runtime_input):
    item = runtime_input(["n", 4, "m"])
    scale = np.ones(4, np.float32)
    check("CumSum", [item, np.array(1)])
    check("CumProd", [item, np.array(1)], opset=26)
    check("InstanceNormalization", [item, scale, scale])
    check("ReverseSequence", [item, runtime_input([4], T.INT64, 1, 2)])
    check("LRN", [runtime_input(["n", 4, "m", 2])], size=3)
    check("Trilu", [item, np.array(1)])
    check("TensorScatter", [runtime_input(["n", 4, 8, 2]), runtime_input(["n", 4, 3, 2])], opset=24)
    cache = runtime_input(["n", "m", 2])
    check("RotaryEmbedding", [runtime_input(["n", 3, "m", 4]), cache, cache], opset=23)


@pytest.mark.parametrize("op_type", sorted(UNARY))
def test_unary(check, runtime_input, op_type):
    dtype = {"Not": T.BOOL, "BitwiseNot": T.INT32}.get(op_type, T.FLOAT)
    check(op_type, [runtime_input(["n", "m"], dtype, 1, 3)])
    if op_type not in ("Not", "BitwiseNot"):
        (found,) = check(op_type, [np.array([[0.25, 1.5], [2.5, 3.5]], np.float32)])
        assert found.constant is not None


PAIRS = [
    (["n", 3], ["n", 3]),
    (["n", 1], [1, "m"]),
    (["n", "m"], ["m"]),
    (["n"], ["m"]),
    (["n", 4], [1]),
    (["n"], [4]),
    ([], ["n", "m"]),
    (["n"], ["n+2"]),
    (["n+1"], ["m+1"]),
]


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("op_type", ["Add", "Mul", "Less", "Max", "Pow", "Mean"])
def test_broadcasting(check, runtime_input, op_type, left, right):
    symbols = ("n", "m")
    every = [
        dict(zip(symbols, pair, strict=True)) for pair in itertools.product((0, 1, 4, 5), repeat=2)
    ]
    check(op_type, [runtime_input(left), runtime_input(right)], sizes=every, need_runs=4)


def test_known_size_wins_over_symbol(check, runtime_input):
    (found,) = check(
        "Add", [runtime_input(["n"]), runtime_input([4])], sizes=[{"n": 4}, {"n": 1}], need_runs=2
    )
    assert found.shape == [4]


def test_broadcast_again_with_a_part_is_the_same_size():
    context = ShapesContext()
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[n] x, float[m] y) => (float[k] z)'
        " { t = Add(x, y) z = Add(t, x) u = Add(y, t) }"
    )
    compute_shapes(context, model)
    assert context.get("z").shape == context.get("t").shape == context.get("u").shape


@pytest.mark.parametrize("op_type", sorted(BINARY))
def test_arithmetic(check, runtime_input, op_type):
    dtype = T.INT64 if op_type.startswith(("Bitwise", "Mod")) else T.FLOAT
    both = [runtime_input(["n", 3], dtype, 1, 5), runtime_input([3], dtype, 1, 5)]
    (found,) = check(op_type, both)
    assert found.shape == ["n", 3]


@pytest.mark.parametrize("op_type", sorted(COMPARE))
def test_comparison_gives_bool(check, runtime_input, op_type):
    dtype = T.BOOL if op_type in ("And", "Or", "Xor") else T.FLOAT
    (found,) = check(op_type, [runtime_input(["n", 3], dtype), runtime_input(["n", 1], dtype)])
    assert found.dtype == TensorType.kBool


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Pow"])
def test_constants_are_computed(check, op_type):
    left = np.array([[7, -7, 8], [0, 5, -1]], np.int64)
    right = np.array([2, 3, 3] if op_type == "Pow" else [2, 2, -3], np.int64)
    (found,) = check(op_type, [left, right])
    assert found.constant is not None


def test_fmod_takes_the_sign_of_the_dividend(check):
    (found,) = check("Mod", [np.array([-7, 7]), np.array([3, -3])], fmod=1)
    assert found.constant.tolist() == [-1, 1]


def test_where(check, runtime_input):
    check("Where", [runtime_input(["n", 1], T.BOOL), runtime_input(["m"]), runtime_input([])])
    (found,) = check("Where", [np.array([True, False]), np.array([1, 2]), np.array([5])])
    assert found.value == (OptimDim(1), OptimDim(5))


@pytest.mark.parametrize("opset", [7, 10, 12, 13, 22])
def test_dropout(check, runtime_input, opset):
    (_, mask) = check("Dropout", [runtime_input(["n", 3])], n_outputs=2, opset=opset)
    assert mask.dtype == (TensorType.kFloat if opset < 10 else TensorType.kBool)


def test_clip(check, runtime_input):
    check("Clip", [runtime_input(["n", 3])], opset=6, min=0.0)
    check("Clip", [runtime_input(["n", 3]), np.array(0.5, np.float32)])
    (found,) = check("Clip", [np.array([1, 9]), np.array(2), np.array(5)])
    assert found.constant.tolist() == [2, 5]


def test_dtype_attribute(check, runtime_input):
    for op_type in ("RandomNormalLike", "RandomUniformLike", "EyeLike"):
        (found,) = check(op_type, [runtime_input(["n", "m"])], dtype=T.DOUBLE)
        assert found.dtype == TensorType.kDouble
    check("Bernoulli", [runtime_input(["n", "m"], T.FLOAT, 0, 1)])


@pytest.mark.parametrize("op_type", ["IsInf", "IsNaN"])
def test_predicates(check, runtime_input, op_type):
    check(op_type, [runtime_input(["n", "m"])])


def test_prelu_keeps_the_input_shape(check, runtime_input):
    check("PRelu", [runtime_input(["n", 3, "m"]), runtime_input([3, 1])])


def test_bit_shift_and_sum(check, runtime_input):
    check(
        "BitShift",
        [runtime_input(["n", 1], T.UINT8), runtime_input(["m"], T.UINT8)],
        direction="LEFT",
    )
    check("Sum", [runtime_input(["n", 1]), runtime_input(["m"]), runtime_input([1, 1])])


def test_swiglu_unifies(check, runtime_input):
    check(
        "SwiGLU",
        [runtime_input(["n", 4]), runtime_input(["n", "m"])],
        opset=28,
        sizes=[{"n": 3, "m": 4}],
    )


@pytest.mark.parametrize(("left", "right", "wanted"), [("n", "m", 1), ("n", "k", "k"), ("n", 4, 4)])
def test_sizes_known_to_be_one_take_no_part(left, right, wanted):
    context = ShapesContext({"": 21})
    context.add_constraint("n", 1)
    context.add_constraint("m", 1)
    context.set("x", OptimTensor(T.FLOAT, [left]))
    context.set("y", OptimTensor(T.FLOAT, [right]))
    compute_shapes(context, helper.make_node("Add", ["x", "y"], ["z"]))
    assert context.get("z").shape == [wanted]


def test_prelu_of_a_slope_that_stretches_the_input(check, runtime_input):
    (found,) = check("PRelu", [runtime_input(["n", 1]), runtime_input([5])], sizes=[{"n": 2}])
    assert found.shape == ["n", 5]
