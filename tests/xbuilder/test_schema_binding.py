from typing import Any

import numpy as np
import pytest

from yobx.errors import GraphError
from yobx.onnx_optim import TensorType
from yobx.xbuilder.schema import signature
from yobx.xbuilder.schema_binding import (
    check_outputs,
    check_types,
    place_parameters,
    scalar_type,
)


def place(op_type: str, opset: int, *inputs: Any, **attributes: Any) -> Any:
    return place_parameters(
        signature("", op_type, opset),
        inputs,
        attributes,
        lambda value: None if isinstance(value, str) else np.asarray(value),
    )


def test_keyword_goes_where_the_opset_has_it() -> None:
    assert place("ReduceMean", 18, "x", axes=[1]) == (["x", [1]], {})
    assert place("ReduceMean", 17, "x", axes=[1]) == (["x"], {"axes": [1]})
    assert place("Unsqueeze", 21, "x", axes=1) == (["x", [1]], {})
    assert place("Clip", 21, "x", max=6.0) == (["x", None, 6.0], {})
    assert place("Pad", 21, "x", pads=[0, 1], value=2.0) == (["x", [0, 1], 2.0], {})


def test_input_goes_where_the_opset_has_it() -> None:
    assert place("ReduceMean", 17, "x", np.array([1])) == (["x"], {"axes": [1]})
    with pytest.raises(GraphError, match="must be known while building"):
        place("ReduceMean", 17, "x", "axes")


def test_none_is_not_given() -> None:
    assert place("Clip", 21, "x", None, None) == (["x"], {})
    assert place("Softmax", 21, "x", axis=None) == (["x"], {})
    assert place("Resize", 21, "x", None, "s") == (["x", None, "s"], {})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: place("Add", 21, "x"), r"Received: 1 for Add-14, which takes 2: \(A, B\)"),
        (lambda: place("Relu", 21, "x", "y"), "Received: 2 for Relu-14"),
        (lambda: place("Relu", 21, None), "cannot be omitted"),
        (lambda: place("Relu", 21, "x", alpha=1.0), "it has no attributes"),
        (lambda: place("Softmax", 21, "x", axes=1), "did you mean 'axis'"),
        (lambda: place("Concat", 21, "x"), "without axis"),
        (lambda: place("ReduceSum", 21, "x", "a", axes=[1]), "given twice"),
        (lambda: check_outputs(signature("", "Relu", 21), 2), "Received: 2 for Relu-14"),
    ],
)
def test_misuse(call: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        call()


FLOAT16, INT64, NONE = TensorType.kFloat16, TensorType.kInt64, TensorType.kUndefined


@pytest.mark.parametrize(
    ("op_type", "index", "value", "known", "expected"),
    [
        ("Add", 1, 2, [FLOAT16, NONE], FLOAT16),
        ("Add", 0, 2.0, [NONE, TensorType.kDouble], TensorType.kDouble),
        ("Where", 2, 0, [TensorType.kBool, FLOAT16, NONE], FLOAT16),
        ("Reshape", 1, [1, -1], [FLOAT16, NONE], INT64),
        ("Pow", 1, 2, [FLOAT16, NONE], FLOAT16),
        ("Pow", 1, 0.5, [TensorType.kInt32, NONE], TensorType.kFloat),
        ("Gather", 1, 0, [FLOAT16, NONE], INT64),
        ("Add", 1, 2, [NONE, NONE], INT64),
        ("Concat", 1, [1.0], [TensorType.kDouble, NONE], TensorType.kDouble),
    ],
)
def test_type_of_a_number(
    op_type: str, index: int, value: Any, known: list[TensorType], expected: TensorType
) -> None:
    assert scalar_type(signature("", op_type, 21), index, value, known) == expected


def test_types_must_be_allowed_and_agree() -> None:
    check_types(signature("", "Add", 21), ["a", "b"], [FLOAT16, NONE])
    check_types(signature("", "Loop", 21), ["", "", "a", "b"], [NONE, NONE, FLOAT16, INT64])
    with pytest.raises(GraphError, match=r"tensor\(float16\)\. Allowed: tensor\(bool\)"):
        check_types(signature("", "Not", 21), ["a"], [FLOAT16])
    with pytest.raises(GraphError, match="must have one element type"):
        check_types(signature("", "Add", 21), ["a", "b"], [FLOAT16, INT64])
