"""Inputs and outputs that a comparison might let through, or be confused by."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.verification.models import model, unary, value
from yobx.errors import ArgumentError
from yobx.verification import check_conversion
from yobx.verification.comparison import Allowance, compare
from yobx.verification.findings import Outcome

X = np.random.default_rng(0).standard_normal(4).astype(np.float32)


def identity(dtype: int, shape: tuple[Any, ...] = ("N",)) -> onnx.ModelProto:
    node = helper.make_node("Identity", ["x"], ["y"])
    return model([node], [value("x", shape, dtype)], [value("y", shape, dtype)])


def one_bit_off(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bits = array.copy().view(f"u{array.dtype.itemsize}")
    bits[-1] ^= 1
    return bits.view(array.dtype)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (TensorProto.BOOL, np.array([True, False])),
        (TensorProto.INT8, np.array([-128, 127], np.int8)),
        (TensorProto.UINT16, np.array([1, 65535], np.uint16)),
        (TensorProto.UINT32, np.array([1, 2**32 - 1], np.uint32)),
        (TensorProto.UINT64, np.array([1, 2**64 - 1], np.uint64)),
        (TensorProto.INT64, np.array([2**62, -(2**63)])),
        (TensorProto.FLOAT16, np.array([1, 6e4], np.float16)),
        (TensorProto.DOUBLE, np.array([1, 1e300])),
        (TensorProto.BFLOAT16, np.array([1, 3e38], ml_dtypes.bfloat16)),
        (TensorProto.FLOAT8E4M3FN, np.array([1, 448], ml_dtypes.float8_e4m3fn)),
        (TensorProto.FLOAT8E5M2, np.array([1, 5e4], ml_dtypes.float8_e5m2)),
        (TensorProto.FLOAT8E4M3FNUZ, np.array([1, 200], ml_dtypes.float8_e4m3fnuz)),
        (TensorProto.FLOAT8E5M2FNUZ, np.array([1, 5e4], ml_dtypes.float8_e5m2fnuz)),
    ],
)
def test_one_bit_of_every_dtype(dtype: int, values: np.ndarray[Any, Any]) -> None:
    def check(reference: Callable[..., Any]) -> Any:
        return check_conversion(identity(dtype), (values,), reference=reference, bindings="sample")

    assert check(lambda x: x).passed
    assert check(one_bit_off).failed_phase == "values"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (lambda x: None, "a tensor where the source gives nothing"),
        (lambda x: np.array([None] * len(x)), "an array of objects, NoneType among them"),
        (lambda x: np.array([f"{v}" for v in x[:-1]] + [7.5], object), "float among them"),
        (lambda x: ([x],), "a tensor where the source gives a sequence of tensors"),
        (lambda x: x[:1], "shape [5], the source gives [1]"),
        (lambda x: x[0], "rank 1 [5], the source gives rank 0 []"),
        (lambda x: x.astype(np.complex64), "source gives"),
    ],
)
def test_what_only_looks_equal_is_told_apart(reference: Any, words: str) -> None:
    ones = np.ones(5, np.float32)
    report = check_conversion(identity(1), (ones,), reference=reference, bindings="primes")
    assert not report.passed
    assert words in report.text()


def test_objects_are_no_strings() -> None:
    report = compare("y", np.array(["None"], object), np.array([None], object), Allowance("exact"))
    assert report.failed
    report = compare("y", np.array(["1.5"], object), np.array([1.5], object), Allowance("exact"))
    assert report.failed
    same = compare("y", np.array(["é"], object), np.array(["é".encode()]), Allowance("exact"))
    assert not same.failed


def optional(*, full: bool) -> onnx.ModelProto:
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
    node = helper.make_node("Optional", ["x"], ["y"])
    if not full:
        node = helper.make_node("Optional", [], ["y"], type=tensor)
    result = helper.make_value_info("y", helper.make_optional_type_proto(tensor))
    return model([node], [value("x", ["N"])], [result])


@pytest.mark.parametrize(
    ("full", "reference", "agrees"),
    [
        (True, lambda x: x, True),
        (True, lambda x: x + 1, False),
        (True, lambda x: None, False),
        (False, lambda x: (None,), True),
        (False, lambda x: x, False),
    ],
)
def test_optional_outputs(full: bool, reference: Any, agrees: bool) -> None:
    report = check_conversion(optional(full=full), (X,), reference=reference)
    assert report.passed is agrees
    if agrees:
        assert all(output.vacuous is not full for output in report.outputs)


def sequence() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("SequenceConstruct", ["x", "e"], ["y"]),
    ]
    result = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
    return model(nodes, [value("x", ["N"])], [result])


@pytest.mark.parametrize(
    ("reference", "agrees"),
    [
        (lambda x: ([x, np.exp(x)],), True),
        (lambda x: ([np.exp(x), x],), False),
        (lambda x: ([x],), False),
        (lambda x: ([],), False),
        (lambda x: ([x, np.exp(x) + 1e-3],), False),
        (lambda x: ([x, np.exp(x).astype(np.float64)],), False),
        (lambda x: (np.stack([x, np.exp(x)]),), False),
    ],
)
def test_sequences(reference: Any, agrees: bool) -> None:
    report = check_conversion(sequence(), (X,), reference=reference)
    assert report.passed is agrees
    assert not report.internal, report.text()
    if agrees:
        assert all(output.max_abs is not None for output in report.outputs)


def test_what_an_element_of_a_sequence_warns_of_is_told() -> None:
    nans = np.full(3, np.nan, np.float32)
    report = compare("y", [nans, nans], [nans, nans], Allowance("exact", ulp=1.0))
    assert report.outcome is Outcome.WARNING
    assert report.vacuous
    assert report.notes[0].startswith("y[0]: no element is finite")


def test_a_check_of_nan_alone_proves_nothing() -> None:
    nodes = [helper.make_node("Sqrt", ["x"], ["t"]), helper.make_node("Mul", ["t", "t"], ["y"])]
    squares = model(nodes, [value("x", ["N"])], [value("y", ["N"])])
    with np.errstate(invalid="ignore"):
        report = check_conversion(
            squares,
            (np.full(3, -1.0, np.float32),),
            reference=lambda x: np.sqrt(x) * np.float32(7),
            bindings="sample",
        )
    assert all(output.vacuous for output in report.outputs)
    assert report.failed_phase == "values"
    assert "no element of any output is finite, so nothing is proven" in report.text()
    assert report.text().startswith("yobx: VALUES are not proven")
    assert "y not finite" in report.text()


def test_one_output_of_nan_and_deviations_of_one_element_are_warnings() -> None:
    nodes = [helper.make_node("Log", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])]
    both = model(nodes, [value("x", ["N"])], [value("y", ["N"]), value("z", ["N"])])
    with np.errstate(invalid="ignore"):
        report = check_conversion(both, (-np.abs(X),), reference=lambda x: (np.log(x), np.abs(x)))
    assert report.passed
    assert "y: no element is finite" in report.text()

    deviation = model(
        [
            helper.make_node("ReduceMean", ["x", "axes"], ["mean"], keepdims=1),
            helper.make_node("Sub", ["x", "mean"], ["d"]),
            helper.make_node("ReduceSumSquare", ["d", "axes"], ["s"], keepdims=0),
            helper.make_node("Size", ["x"], ["n"]),
            helper.make_node("Sub", ["n", "one"], ["m"]),
            helper.make_node("Cast", ["m"], ["free"], to=1),
            helper.make_node("Div", ["s", "free"], ["y"]),
        ],
        [value("x", ["N"])],
        [value("y", [])],
        {"axes": np.array([0], np.int64), "one": np.array(1, np.int64)},
    )
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for binding in ("primes", "ones"):
            assert check_conversion(
                deviation,
                (X,),
                reference=lambda x: np.var(x, ddof=1, dtype=np.float32),
                bindings=binding,
            ).passed


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("units", "agrees"), [(0, True), (1, True), (4, False), (-7, False)])
def test_sixteen_bits_are_rounded_once(dtype: Any, units: int, agrees: bool) -> None:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=1),
        helper.make_node("Tanh", ["f"], ["t"]),
        helper.make_node("Cast", ["t"], ["y"], to=kind),
    ]
    tanh = model(nodes, [value("x", ["N"], kind)], [value("y", ["N"], kind)])

    def reference(x: Any) -> Any:
        right = np.tanh(x.astype(np.float64)).astype(dtype)
        return (right.view(np.int16) + np.int16(units)).view(dtype)

    report = check_conversion(tanh, (X.astype(dtype),), reference=reference)
    assert report.passed is agrees, report.text()
    assert report.outputs[0].rule == "3 ULP (transcendental: Tanh)"


def test_no_scale_makes_everything_right() -> None:
    def check(scale: float) -> Any:
        return check_conversion(
            unary("Exp", ["N"]), (X,), reference=lambda x: -np.exp(x), tolerance_scale=scale
        )

    for scale in (1.0, 1e7, 1e30):
        report = check(scale)
        assert report.failed_phase == "values"
    assert "are as much as the values themselves" in report.text()


def test_elements_that_may_be_anything_are_told() -> None:
    """A median says nothing of the other half."""
    want = np.linspace(1.0, 2.0, 100).astype(np.float32)
    allowed = np.full(100, 1e-7)
    allowed[:40] = 1e3
    got = want.copy()
    got[:40] = 0.5
    report = compare("y", got, want, Allowance("measured", allowed, ulp=1.0, rms=1e3))
    assert report.outcome is Outcome.WARNING
    assert report.notes == [
        "40 of 100 elements differ and are allowed more than they are: undecided"
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((X.astype(np.float64),), "is float32 [N], and was given float64 [4]"),
        ((X.reshape(2, 2),), "is float32 [N], and was given float32 [2, 2]"),
        (("text",), "the converted model has 1 input (x), the source was given 0"),
        ((X, X), "the converted model has 1 input (x), the source was given 2"),
    ],
)
def test_inputs_that_do_not_fit_are_told_once(args: tuple[Any, ...], words: str) -> None:
    report = check_conversion(identity(1), args, reference=lambda *x: x[0])
    assert not report.passed
    assert report.text().count(words) == 1


def test_a_size_that_does_not_fit_is_told() -> None:
    report = check_conversion(identity(1, (5,)), (X,), reference=lambda x: x)
    assert "is float32 [5], and was given float32 [4]" in report.text()


def test_a_model_without_outputs_proves_nothing() -> None:
    nothing = model([helper.make_node("Abs", ["x"], ["y"])], [value("x", ["N"])], [])
    report = check_conversion(nothing, (X,), reference=lambda x: ())
    assert "the converted model has no outputs: there is nothing to compare" in report.text()


def test_no_binding_is_refused() -> None:
    with pytest.raises(ArgumentError, match="at least one binding"):
        check_conversion(identity(1), (X,), reference=lambda x: x, bindings=[])


def test_wrong_outputs_are_told_in_the_order_of_the_model() -> None:
    names = [f"o{i}" for i in range(6)]
    nodes = [helper.make_node("Identity", ["x"], [name]) for name in names]
    many = model(nodes, [value("x", ["N"])], [value(name, ["N"]) for name in names])
    report = check_conversion(many, (X,), reference=lambda x: tuple(x + 1 for _ in names))
    told = [line.split()[0] for line in report.text().splitlines() if line.startswith(" o")]
    assert told == ["outputs", "o0", "o1", "o2"]


def test_a_reference_that_would_be_ignored_is_refused() -> None:
    report = check_conversion(np.abs, (X,), reference=lambda x: x)
    assert report.failed_phase == "import"
    assert "a model that is converted is compared with itself" in report.text()


def _sums_of_unlike_length(seed: int) -> tuple[Callable[..., Any], onnx.ModelProto, Any]:
    """One to eight products an element, added up in the order of the taps or backwards."""
    import tensorflow as tf

    from yobx.tensorflow import to_onnx

    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(3, 3, 3, 3, 2)).astype(np.float32)
    x = rng.normal(size=(7, 11, 13, 17, 2)).astype(np.float32)
    shape = (7, 21, 25, 33, 3)
    function = tf.function(lambda x: tf.nn.conv3d_transpose(x, weights, shape, 2, "SAME"))
    return function, to_onnx(function, (x,), dynamic_shapes=({},)), x


# Pooled with the typical deviation the second is 1.2 limits off, however often it is measured.
@pytest.mark.parametrize("seed", [0, 18])
def test_an_element_may_be_a_sum_of_more_numbers_than_most(seed: int) -> None:
    function, onx, x = _sums_of_unlike_length(seed)
    report = check_conversion(onx, (x,), reference=function)
    assert report.passed, report.text()


def test_a_wrong_element_is_told_when_it_is_measured_again() -> None:
    function, onx, x = _sums_of_unlike_length(0)

    def off(x: Any) -> Any:
        y = function(x).numpy()
        y[3, 11, 13, 15, 1] += 2e-5
        return y

    report = check_conversion(onx, (x,), reference=off, localize=False)
    assert not report.passed
    assert report.outputs[0].wrong == 1
    assert report.outputs[0].first_index == (3, 11, 13, 15, 1)


@pytest.mark.parametrize(("seed", "shift"), [(26, 0.0), (46, 0.0), (26, 2e-5)])
def test_one_number_may_be_as_far_off_as_one_number_can_be(seed: int, shift: float) -> None:
    """A root mean square of one element varies more than that of many, and is still judged."""
    import tensorflow as tf

    from yobx.tensorflow import to_onnx

    rng = np.random.default_rng(seed)
    kernel = rng.normal(size=(3, 3, 3, 8)).astype(np.float32)
    head = rng.normal(size=(8, 1)).astype(np.float32)
    x = rng.normal(size=(1, 16, 16, 3)).astype(np.float32)

    def pooled(x: Any) -> Any:
        return tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME")), [1, 2]) @ head

    function = tf.function(pooled)
    onx = to_onnx(function, (x,), dynamic_shapes=({},))
    report = check_conversion(
        onx, (x,), reference=lambda x: function(x).numpy() + np.float32(shift), localize=False
    )
    assert report.passed == (shift == 0.0), report.text()


def test_exponentials_below_the_range_of_float32() -> None:
    """TensorFlow and JAX flush what is subnormal, onnxruntime keeps it."""
    import tensorflow as tf

    x = np.linspace(-105, -80, 77).astype(np.float32).reshape(11, 7)
    right = check_conversion(tf.function(tf.exp), (x,))
    assert right.passed, right.text()
    wrong = {
        "Exp": lambda g, sts, outputs, op: g.op.Mul(
            g.op.Exp(op.inputs[0].name), np.float32(1.00001), outputs=outputs[:1]
        )
    }
    told = check_conversion(tf.function(tf.exp), (x,), extra_converters=wrong, localize=False)
    assert told.failed_phase == "values"
