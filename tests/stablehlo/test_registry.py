"""The registry: duplicates, complex converters, what every registration owes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from yobx.stablehlo import registry
from yobx.stablehlo.ops import register
from yobx.stablehlo.registry import (
    get_stablehlo_op_converter,
    get_stablehlo_op_registrations,
    register_stablehlo_op_converter,
)


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry without the built-in converters."""
    monkeypatch.setattr(registry, "_REAL", {})
    monkeypatch.setattr(registry, "_PAIRS", {})


def convert(g: Any, op: Any) -> str:
    """A converter."""
    return ""


@pytest.mark.usefixtures("empty")
def test_register_and_find() -> None:
    assert (
        register_stablehlo_op_converter(("mine", "chlo.other"), dtypes=["float32"])(convert)
        is convert
    )
    found = get_stablehlo_op_converter("stablehlo.mine")
    assert found is not None
    assert found.converter is convert
    assert found.dtypes == {"float32"}
    assert get_stablehlo_op_converter("chlo.other") is not None
    assert get_stablehlo_op_converter("mine") is None


@pytest.mark.usefixtures("empty")
def test_a_duplicate_names_both_places() -> None:
    register_stablehlo_op_converter("mine")(convert)
    with pytest.raises(TypeError, match=r"registered by .*convert and again by .*convert"):
        register_stablehlo_op_converter("mine")(convert)
    with pytest.raises(TypeError, match="tuple of names"):
        register_stablehlo_op_converter(["mine"])  # type: ignore[arg-type]


@pytest.mark.usefixtures("empty")
def test_complex_values_need_a_converter_that_takes_them() -> None:
    register_stablehlo_op_converter("mine")(convert)
    assert get_stablehlo_op_converter("stablehlo.mine", is_complex=True) is None
    register_stablehlo_op_converter("mine", complex_parts="pair")(convert)
    found = get_stablehlo_op_converter("stablehlo.mine", is_complex=True)
    assert found is not None
    assert found.complex_parts == "pair"


def test_every_converter_says_what_it_does() -> None:
    register()
    register()
    found = get_stablehlo_op_registrations()
    assert len(found) > 100
    anonymous = ("_register_rows", "_register_logic", "_register_markers", "_register_pairs")
    for registration in found:
        assert registration.name.count(".") >= 1
        if not any(word in registration.place for word in anonymous):
            assert registration.converter.__doc__, registration.place


@pytest.mark.usefixtures("empty")
def test_a_converter_that_cannot_be_called_is_refused_with_its_place() -> None:
    def alone(op: Any) -> str:
        return ""

    with pytest.raises(TypeError) as caught:
        register_stablehlo_op_converter(("mine", "chlo.other"))(alone)
    line = alone.__code__.co_firstlineno
    assert re.sub(r"[^\s(]*test_registry\.", "test_registry.", str(caught.value)) == (
        "A converter takes (g, op). Received: test_registry."
        "test_a_converter_that_cannot_be_called_is_refused_with_its_place.<locals>.alone "
        f"(test_registry.py:{line}), which takes (op: 'Any') -> 'str': too many positional "
        "arguments, registered for 'mine', 'chlo.other'. Try def convert(g, op): ..."
    )
    assert get_stablehlo_op_registrations() == ()
    register_stablehlo_op_converter("mine")(lambda *everything: "")
