import onnx
import pytest

from yobx.errors import GraphError
from yobx.xbuilder.schema import attribute_becomes_input, default_opset, newest_opset, signature


def test_versions() -> None:
    assert signature("", "ReduceSum", 12).since_version == 11
    assert signature("", "ReduceSum", 13).since_version == 13
    assert "axes" in signature("", "ReduceMean", 17).attributes
    assert signature("", "ReduceMean", 18).input_index("axes") == 1


@pytest.mark.parametrize("opset", range(18, newest_opset() + 1))
def test_every_operator_of_the_standard(opset: int) -> None:
    for schema in onnx.defs.get_all_schemas():
        if schema.domain or schema.deprecated or schema.since_version > opset:
            continue
        found = signature("", schema.name, opset)
        reference = onnx.defs.get_schema(schema.name, opset, "")
        assert found.since_version == reference.since_version
        assert [p.name for p in found.inputs] == [p.name for p in reference.inputs]
        assert set(found.attributes) == set(reference.attributes)


def test_the_lowest_opset_is_named() -> None:
    with pytest.raises(GraphError, match="target_opset=20 or newer"):
        signature("", "Gelu", 19)


def test_similar_operators_are_named() -> None:
    with pytest.raises(GraphError, match="Try Softmax"):
        signature("", "SoftMax", 21)
    with pytest.raises(GraphError, match=r"It is in domain 'ai\.onnx\.ml'"):
        signature("", "LabelEncoder", 21)


def test_withdrawn_operators_are_refused() -> None:
    with pytest.raises(GraphError, match="withdrawn"):
        signature("", "Upsample", 21)


def test_positions_of_the_newest_version() -> None:
    assert attribute_becomes_input("", "ReduceMean", 1) == "axes"
    assert attribute_becomes_input("", "Relu", 1) is None


def test_default_opsets() -> None:
    assert default_opset("ai.onnx.ml", 21) == 5
    assert default_opset("ai.onnx.ml", 18) == 3
    assert default_opset("nobody", 21) is None
