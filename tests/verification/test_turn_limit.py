"""Loops that noise keeps turning are ended by their number of turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from yobx.verification.runner import RunError, Session
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.tolerances import load_tolerances
from yobx.verification.turn_limit import end_after, is_ended, turns_enough

X: dict[str, Any] = {"x": np.array(1.0, np.float32)}
PROVIDER = "CPUExecutionProvider"


def turning(turns: int | None, body: str = "w = Sin(v)") -> onnx.ModelProto:
    """A loop without an end, or with so many turns, which another one is in if the body is."""
    most = "" if turns is None else "n"
    count = "" if turns is None else f"n = Constant<value = int64 {{{turns}}}>()"
    return onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 21]>
        g (float x) => (float y) {{
            {count}
            go = Constant<value = bool {{1}}>()
            y = Loop({most}, go, x)<body = b (int64 i, bool c, float v) => (bool d, float w) {{
                d = Identity(c) {body}
            }}>
        }}"""
    )


INNER = """
    more = Constant<value = int64 {7}>()
    w = Loop(more, c, v)<body = e (int64 j, bool f, float p) => (bool h, float q) {
        h = Identity(f) q = Sin(p)
    }>
"""


def _limited(model: onnx.ModelProto, most: int) -> onnx.ModelProto:
    end_after(model.graph.node[-1].attribute[0].g, most)
    return model


def test_a_loop_without_an_end_is_ended() -> None:
    session = Session(_limited(turning(None), 50), optimise=False)
    with pytest.raises(RunError) as caught:
        session.run(X)
    assert is_ended(caught.value)


@pytest.mark.parametrize(("turns", "ended"), [(0, False), (1, False), (50, False), (51, True)])
def test_turns_are_counted(turns: int, ended: bool) -> None:
    plain = Session(turning(turns)).run(X).values["y"]
    session = Session(_limited(turning(turns), 50), optimise=False)
    if ended:
        with pytest.raises(RunError) as caught:
            session.run(X)
        assert is_ended(caught.value)
    else:
        assert session.run(X).values["y"] == plain


def test_another_failure_is_none_of_turns() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]>
        g (float x) => (float y) {
            i = Constant<value = int64 {1}>()
            v = Constant<value = float[1] {1.0}>()
            y = Gather(v, i)
        }"""
    )
    with pytest.raises(RunError) as caught:
        Session(model, optimise=False).run(X)
    assert not is_ended(caught.value)


@pytest.mark.parametrize(
    ("model", "enough"),
    [(turning(5), 5), (turning(6), 50), (turning(60), 500), (turning(3, INNER), 50)],
)
def test_enough_turns_are_found(model: onnx.ModelProto, enough: int) -> None:
    before = model.SerializeToString()
    assert turns_enough(model, X, 5, PROVIDER) == enough
    assert model.SerializeToString() == before


def test_a_model_of_many_turns_is_measured() -> None:
    model = turning(load_tolerances().turns + 1)
    clean = Session(model).run(X).values
    sensitivity = Sensitivity(model, load_tolerances())
    allowance = sensitivity.measure(X, {**X, **clean}, ["y"])["y"]
    assert allowance.rms is not None
    assert not sensitivity.notes
