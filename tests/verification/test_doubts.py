"""A closer look is taken where a few elements decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.verification.models import model, value
from yobx.verification import check_conversion
from yobx.verification.comparison import Allowance
from yobx.verification.doubts import differ, doubtful
from yobx.verification.findings import Outcome, OutputReport
from yobx.verification.runner import Session, exposed
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.tolerances import load_tolerances

TABLE = load_tolerances()


def report(**facts: Any) -> OutputReport:
    usual: dict[str, Any] = {
        "outcome": Outcome.FAILED,
        "category": "values",
        "elements": 10_000,
        "wrong": 3,
    }
    return OutputReport("y", **(usual | facts))


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        ({}, True),
        ({"wrong": 10}, True),
        ({"wrong": 11}, False),
        ({"wrong": 0}, False),
        ({"wrong": 0, "elements": 2}, True),
        ({"wrong": 0, "elements": 3}, False),
        ({"wrong": 1, "elements": 3}, True),
        ({"category": "nan"}, False),
        ({"outcome": Outcome.PASSED}, False),
    ],
)
def test_few_elements_are_a_doubt(facts: dict[str, Any], wanted: bool) -> None:
    allowance = Allowance("measured", rms=1.0)
    assert doubtful([report(**facts)], {"y": allowance}, TABLE) == (["y"] if wanted else [])


@pytest.mark.parametrize(
    ("wrong", "turned", "wanted"), [(10, 0, True), (11, 10, False), (11, 11, True)]
)
def test_integers_near_a_boundary_are_a_doubt(wrong: int, turned: int, wanted: bool) -> None:
    allowance = Allowance("exact", unstable=np.arange(10_000) < turned)
    found = doubtful([report(wrong=wrong)], {"y": allowance}, TABLE)
    assert found == (["y"] if wanted else [])


def test_integers_are_measured_again_before_they_are_called_wrong() -> None:
    """Six runs do not turn over all elements that rounding turns over."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 16)).astype(np.float32)
    weights = {"w": rng.standard_normal((16, 64)).astype(np.float32), "k": np.float32(1e4)}
    whole = model(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Mul", ["a", "k"], ["b"]),
            helper.make_node("Cast", ["b"], ["y"], to=TensorProto.INT32),
        ],
        [value("x", (64, 16))],
        [value("y", (64, 64), TensorProto.INT32)],
        {name: np.asarray(array) for name, array in weights.items()},
    )
    clean = Session(exposed(whole, ["a", "b", "y"]), optimise=False).run({"x": x}).values
    measure = Sensitivity(whole, TABLE).measure
    few = measure({"x": x}, clean, ["y"])["y"].unstable
    many = measure({"x": x}, clean, ["y"], runs=TABLE.again)["y"].unstable
    assert few is not None
    assert many is not None

    def passes(place: Any) -> bool:
        other = np.array(clean["y"])
        other[tuple(place)] += 1
        found = check_conversion(whole, (x,), reference=lambda x: other, localize=False)
        return found.passed

    assert passes(np.argwhere(many & ~few)[0])
    assert not passes(np.argwhere(~many)[0])


def test_a_rule_that_nothing_measured_leaves_no_doubt() -> None:
    assert doubtful([report()], {"y": Allowance("exact")}, TABLE) == []


@pytest.mark.parametrize(
    ("category", "wanted"), [("values", True), ("nan", True), ("shape", False)]
)
def test_shapes_and_types_are_no_values(category: str, wanted: bool) -> None:
    assert differ([report(category=category)]) == wanted
