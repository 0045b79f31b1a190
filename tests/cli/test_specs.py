"""Inputs, dynamic axes and bindings as text."""

from __future__ import annotations

import onnx
import pytest

from yobx.cli.specs import DTYPES, InputSpec, parse_bindings, parse_dynamic, parse_opset
from yobx.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x:float32[B,4]", InputSpec("x", "float32", ("B", 4))),
        ("x:float32[ B , 4 ]", InputSpec("x", "float32", ("B", 4))),
        ("int64[3]", InputSpec("", "int64", (3,))),
        ("flag:bool[]", InputSpec("flag", "bool", ())),
        ("x:float32[?,?]", InputSpec("x", "float32", (None, None))),
        ("x:float32[2*H,H + 1]", InputSpec("x", "float32", ("2*H", "H + 1"))),
        ("scope/x:0:float32[2]", InputSpec("scope/x:0", "float32", (2,))),
    ],
)
def test_input(text: str, expected: InputSpec) -> None:
    assert InputSpec.parse(text) == expected


@pytest.mark.parametrize("text", ["", "x", "x:float32", "x:float32[", "x:float32[-1]", "x:f[2]"])
def test_input_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        InputSpec.parse(text)
    assert caught.value.argument == "input"
    assert "Received" in str(caught.value)


def test_input_as_value_info() -> None:
    value = InputSpec.parse("x:float64[B,4,?]").value_info(0)
    assert value.name == "x"
    assert value.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    first, second, third = value.type.tensor_type.shape.dim
    assert (first.dim_param, second.dim_value, third.WhichOneof("value")) == ("B", 4, None)
    assert InputSpec.parse("bool[]").value_info(3).name == "input_3"


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_every_dtype_is_one_of_onnx(dtype: str) -> None:
    elem_type = InputSpec.parse(f"{dtype}[2]").value_info(0).type.tensor_type.elem_type
    if dtype != "string":
        assert onnx.helper.tensor_dtype_to_np_dtype(elem_type).name == dtype
    assert elem_type


def test_dynamic() -> None:
    axes = parse_dynamic(["x:0=batch,1=time", "scope/y:0:2=2*width", "x:2=depth"])
    assert axes == {"x": {0: "batch", 1: "time", 2: "depth"}, "scope/y:0": {2: "2*width"}}


@pytest.mark.parametrize("text", ["x", "x:0", "x:a=b", "x:0=1", ":0=b", "x:0=b,"])
def test_dynamic_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="NAME:AXIS=SYMBOL"):
        parse_dynamic([text])


def test_bindings() -> None:
    assert parse_bindings(["B=7, S=11", "B=1"]) == [{"B": 7, "S": 11}, {"B": 1}]


@pytest.mark.parametrize("text", ["", "B", "B=x", "7=B", "B=-1"])
def test_bindings_are_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="SYMBOL=SIZE"):
        parse_bindings([text])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("21", 21),
        ("21,com.microsoft=1", {"": 21, "com.microsoft": 1}),
        (" 20 , a.b=2, c=3", {"": 20, "a.b": 2, "c": 3}),
        ("com.microsoft=1", {"com.microsoft": 1}),
    ],
)
def test_opset(text: str, expected: int | dict[str, int]) -> None:
    assert parse_opset(text) == expected


@pytest.mark.parametrize("text", ["", "x", "21,", "20,21", "a=", "a=x", "=21", "a=1,a=2", "-1"])
def test_opset_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"--opset 21,com\.microsoft=1"):
        parse_opset(text)


def test_a_dtype_that_is_near_another_one() -> None:
    with pytest.raises(ArgumentError, match=r"Received: 'float' in .* Did you mean float\d+\?"):
        InputSpec.parse("x:float[3]")


def test_an_axis_without_a_name_is_shown_with_one() -> None:
    with pytest.raises(ArgumentError, match=r"Try for example --dynamic item:0=batch"):
        parse_dynamic(["item:0"])
