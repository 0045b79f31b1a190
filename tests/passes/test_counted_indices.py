"""Gather by a Range gives the same rows when onnxruntime optimises the model."""

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.counted_indices import keep_counted_indices

INT32 = 6
INT64 = 7


def span(start: str, limit: str, step: str, kind: int = INT64) -> onnx.ModelProto:
    name = "int32" if kind == INT32 else "int64"
    return parse(
        f"""g (float[n, 2] x) => (float[m, 2] y) <
            {name} zero = {{0}}, {name} one = {{1}}, {name} three = {{3}}, {name} down = {{-1}},
            {name} last = {{-1}}, {name} early = {{-2}}> {{
            shape = Shape (x)
            sizes = Cast <to: int = {kind}> (shape)
            n = Gather (sizes, zero)
            top = Sub (n, one)
            less = Sub (n, three)
            rows = Range ({start}, {limit}, {step})
            y = Gather (x, rows)
        }}"""
    )


def optimised(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": x})[0])


@pytest.mark.parametrize("kind", [INT32, INT64])
@pytest.mark.parametrize(
    ("start", "limit", "step", "rows"),
    [
        ("top", "last", "down", [4, 3, 2, 1, 0]),
        ("early", "three", "one", [3, 4, 0, 1, 2]),
        ("zero", "early", "one", []),
        ("zero", "less", "one", [0, 1]),
    ],
)
def test_the_rows_of_a_range_that_is_no_slice(
    start: str, limit: str, step: str, rows: list[int], kind: int
) -> None:
    after = apply(span(start, limit, step, kind), keep_counted_indices)
    assert kinds(after)["Max"] == 1
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.testing.assert_array_equal(optimised(after, x), x[rows])


@pytest.mark.parametrize(
    ("start", "limit", "step"), [("zero", "n", "one"), ("one", "three", "one")]
)
def test_a_range_that_is_a_slice_is_left_alone(start: str, limit: str, step: str) -> None:
    before = span(start, limit, step)
    assert kinds(apply(before, keep_counted_indices)) == kinds(before)
