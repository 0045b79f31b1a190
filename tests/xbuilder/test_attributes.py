from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto

from yobx.errors import GraphError
from yobx.xbuilder import AttributeRef
from yobx.xbuilder.attributes import make_attribute


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (AttributeProto.INT, True, 1),
        (AttributeProto.INT, np.int32(3), 3),
        (AttributeProto.INT, np.float32, onnx.TensorProto.FLOAT),
        (AttributeProto.FLOAT, 2, 2.0),
        (AttributeProto.STRING, "é", "é".encode()),
        (AttributeProto.INTS, np.array([1, 2]), [1, 2]),
        (AttributeProto.INTS, (), []),
        (AttributeProto.FLOATS, [1, 2.5], [1.0, 2.5]),
        (AttributeProto.STRINGS, ["a", b"b"], [b"a", b"b"]),
    ],
)
def test_declared_kind(kind: int, value: Any, expected: Any) -> None:
    made = make_attribute("Op", "a", value, kind)
    assert made.type == kind
    assert onnx.helper.get_attribute_value(made) == expected


def test_tensors() -> None:
    made = make_attribute("Constant", "value", np.arange(3), AttributeProto.TENSOR)
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(made.t), np.arange(3))
    made = make_attribute("Constant", "value", np.array(["é"]), AttributeProto.TENSOR)
    assert list(made.t.string_data) == ["é".encode()]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (AttributeProto.INT, 1.0),
        (AttributeProto.INT, "1"),
        (AttributeProto.FLOAT, "1"),
        (AttributeProto.STRING, 1),
        (AttributeProto.INTS, 1),
        (AttributeProto.INTS, [1.5]),
        (AttributeProto.TENSOR, "x"),
        (AttributeProto.GRAPH, 1),
    ],
)
def test_another_kind_is_refused(kind: int, value: Any) -> None:
    with pytest.raises(GraphError, match="The attribute has another type"):
        make_attribute("Op", "a", value, kind)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, AttributeProto.INT),
        (1.0, AttributeProto.FLOAT),
        ("a", AttributeProto.STRING),
        ([1, 2], AttributeProto.INTS),
        ([1, 2.0], AttributeProto.FLOATS),
        (["a"], AttributeProto.STRINGS),
        (np.zeros((2, 2)), AttributeProto.TENSOR),
    ],
)
def test_kind_without_schema(value: Any, kind: int) -> None:
    assert make_attribute("Custom", "a", value).type == kind


def test_reference_needs_a_kind() -> None:
    made = make_attribute("Elu", "alpha", AttributeRef("a"), AttributeProto.FLOAT)
    assert (made.ref_attr_name, made.type) == ("a", AttributeProto.FLOAT)
    with pytest.raises(GraphError, match="only a schema"):
        make_attribute("Custom", "alpha", AttributeRef("a"))
