"""Numbers near zero and one in float64 count when onnxruntime optimises the model."""

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.neutral_numbers import keep_neutral_numbers


def model_of(body: str, number: float) -> onnx.ModelProto:
    model = parse(
        f"""g (double[n, 2] x) => (double[n, 2] y) <double c = {{1}}> {{
            a = Abs (x)
            b = {body}
            y = Neg (b)
        }}"""
    )
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array(number), "c"))
    return model


def optimised(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": x})[0])


CASES = [
    ("Mul (a, c)", 1 + 1e-9, lambda a, c: a * c),
    ("Mul (c, a)", 1 - 2e-8, lambda a, c: a * c),
    ("Div (a, c)", 1 + 1e-9, lambda a, c: a / c),
    ("Add (a, c)", 1e-46, lambda a, c: a + c),
    ("Add (c, a)", -1e-46, lambda a, c: a + c),
    ("Sub (a, c)", 1e-46, lambda a, c: a - c),
]


@pytest.mark.parametrize(("body", "number", "function"), CASES)
def test_the_number_counts(body: str, number: float, function: object) -> None:
    x = np.array([[3.0, -0.7], [2e-46, 0.0], [np.inf, 1e300]])
    before = model_of(body, number)
    wanted = -function(np.abs(x), number)  # type: ignore[operator]
    assert not np.array_equal(optimised(before, x), wanted)
    assert np.array_equal(optimised(apply(before, keep_neutral_numbers), x), wanted)


@pytest.mark.parametrize(
    ("body", "number"),
    [("Mul (a, c)", 1.0), ("Mul (a, c)", 1.5), ("Add (a, c)", 0.0), ("Sub (c, a)", 1e-46),
     ("Div (c, a)", 1 + 1e-9), ("Add (a, c)", 1 + 1e-9)],
)  # fmt: skip
def test_others_are_left_alone(body: str, number: float) -> None:
    before = model_of(body, number)
    assert kinds(apply(before, keep_neutral_numbers)) == kinds(before)
