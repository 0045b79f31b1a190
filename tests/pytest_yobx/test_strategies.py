from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from onnx import helper

from pytest_yobx.strategies import arrays_for, inputs_for, models, sizes_for
from yobx.errors import ArgumentError
from yobx.verification import check_conversion

FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int64", 0, 9), ("int8", 0, 9), ("uint8", 0, 255), ("bool", 0, 1), ("float32", -1e2, 1e2)],
)
def test_values_stay_in_the_range_of_their_dtype(dtype, low, high):
    @FEW
    @given(arrays_for((dtype, ("B", 3))))
    def check(array):
        assert array.dtype == dtype
        assert array.shape[1] == 3
        assert np.all((array >= low) & (array <= high))

    check()


def test_other_dtypes():
    for dtype, real in (("bfloat16", ml_dtypes.bfloat16), ("float16", np.float16)):
        array = find(arrays_for((dtype, (2,))), lambda a: True)
        assert array.dtype == real
    assert find(arrays_for(("string", (3,))), lambda a: "épsilon" in a).dtype == object
    assert find(arrays_for(("complex64", (2,))), lambda a: a.imag.any()).dtype == np.complex64


def test_sizes_zero_and_one_and_edges_are_reached():
    spec = ("float32", ("B", None))
    assert find(arrays_for(spec), lambda a: a.shape[0] == 0).shape[0] == 0
    assert find(arrays_for(spec), lambda a: a.shape == (1, 1)).shape == (1, 1)
    find(arrays_for(spec), lambda a: np.signbit(a[a == 0.0]).any())
    find(arrays_for(spec, special=True), lambda a: np.isnan(a).any())
    with pytest.raises(NoSuchExample):
        find(arrays_for(spec), lambda a: not np.isfinite(a).all(), settings=FEW)
    with pytest.raises(NoSuchExample):
        find(arrays_for(spec, least=2), lambda a: min(a.shape) < 2, settings=FEW)


@FEW
@given(inputs_for([("float32", ("B", "S")), ("int64", ("S", "B")), ("bool", ("S", 2))]))
def test_a_name_has_one_size(arrays):
    first, second, third = arrays
    assert first.shape == second.shape[::-1]
    assert third.shape == (first.shape[1], 2)


def test_descriptions_of_other_packages():
    value = helper.make_tensor_value_info("ids", onnx.TensorProto.INT32, ["B", 4])
    assert find(arrays_for(value, sizes={"B": 3}), lambda a: True).shape == (3, 4)

    class Struct:
        dtype, shape = np.dtype("float64"), (2, 5)

    array = find(arrays_for(Struct()), lambda a: True)
    assert (array.dtype, array.shape) == (np.float64, (2, 5))
    assert find(sizes_for([value]), lambda s: s["B"] == 0) == {"B": 0}


@FEW
@given(inputs_for([("float32", ("2*n", "m")), ("float32", ("n - 1", "m", "m"))]))
def test_sizes_that_are_expressions_follow_from_their_names(arrays):
    first, second = arrays
    assert first.shape[0] == 2 * (second.shape[0] + 1)
    assert second.shape[1:] == (first.shape[1],) * 2


def test_sizes_that_make_an_axis_negative_are_refused():
    with pytest.raises(ArgumentError, match=r"n - 3 with \{'n': 1\}"):
        find(arrays_for(("float32", ("n - 3",)), sizes={"n": 1}), lambda a: True)


@FEW
@given(models(), st.data())
def test_models_are_valid_and_run_at_every_size(model, data):
    onnx.checker.check_model(model, full_check=True)
    feeds = data.draw(inputs_for(model))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    named = {value.name: array for value, array in zip(model.graph.input, feeds, strict=True)}
    for result, value in zip(session.run(None, named), model.graph.output, strict=True):
        dims = value.type.tensor_type.shape.dim
        assert dims[0].dim_param == "B"
        assert result.shape == (len(feeds[0]), dims[1].dim_value)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(models(least_nodes=3))
def test_a_random_model_agrees_with_itself(model):
    assert check_conversion(model, reference=model, bindings=["primes", "ones"]).passed


def test_the_plugin_does_not_load_hypothesis():
    code = "import sys, pytest_yobx; assert 'hypothesis' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
