"""Inputs, dynamic axes and bindings as text."""

from __future__ import annotations

import pytest

from yobx.cli.specs import DynamicAxis, InputSpec, dynamic_shapes, parse_bindings, parse_dynamic
from yobx.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x:float32[B,4]", InputSpec("x", "float32", ("B", 4))),
        ("x:float32[ B , 4 ]", InputSpec("x", "float32", ("B", 4))),
        ("int64[3]", InputSpec("", "int64", (3,))),
        ("flag:bool[]", InputSpec("flag", "bool", ())),
        ("x:float32[?,?]", InputSpec("x", "float32", ("x_0", "x_1"))),
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


def test_dynamic_axes_of_an_input() -> None:
    assert InputSpec.parse("x:float32[B,4,T]").dynamic_axes == {0: "B", 2: "T"}


def test_dynamic() -> None:
    axes = parse_dynamic(["x:0=batch,1=time", "1:2=width"])
    assert axes == [
        DynamicAxis("x", 0, "batch"),
        DynamicAxis("x", 1, "time"),
        DynamicAxis("1", 2, "width"),
    ]
    assert dynamic_shapes(axes, ["x", "y"], ({}, {0: "n"})) == (
        {0: "batch", 1: "time"},
        {0: "n", 2: "width"},
    )


@pytest.mark.parametrize("text", ["x", "x:0", "x:a=b", "x:0=1", ":0=b", "x:0=b,"])
def test_dynamic_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="NAME:AXIS=SYMBOL"):
        parse_dynamic([text])


@pytest.mark.parametrize("target", ["z", "2"])
def test_dynamic_of_an_unknown_input_lists_the_inputs(target: str) -> None:
    with pytest.raises(ArgumentError, match=r"The inputs are: x, y\."):
        dynamic_shapes([DynamicAxis(target, 0, "b")], ["x", "y"], ({}, {}))


def test_bindings() -> None:
    assert parse_bindings(["B=7, S=11", "B=1"]) == [{"B": 7, "S": 11}, {"B": 1}]


@pytest.mark.parametrize("text", ["", "B", "B=x", "7=B", "B=-1"])
def test_bindings_are_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="SYMBOL=SIZE"):
        parse_bindings([text])
