"""Types and shapes in words."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from yobx.cli.values import describe_type, rows


@pytest.mark.parametrize(
    ("proto", "text", "known"),
    [
        (helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", 4]), "float32[n, 4]", True),
        (helper.make_tensor_type_proto(TensorProto.STRING, []), "string[]", True),
        (helper.make_tensor_type_proto(TensorProto.BFLOAT16, [None]), "bfloat16[?]", False),
        (helper.make_tensor_type_proto(TensorProto.INT64, None), "int64[...]", False),
        (onnx.TypeProto(), "?", False),
        (
            helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2])),
            "sequence(float32[2])",
            True,
        ),
        (
            helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.BOOL, None)),
            "optional(bool[...])",
            False,
        ),
        (
            helper.make_map_type_proto(
                TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
            ),
            "map(int64, float32[])",
            True,
        ),
    ],
)
def test_types(proto: onnx.TypeProto, text: str, known: bool) -> None:
    assert describe_type(proto) == (text, known)


def test_rows_follow_the_graph_and_show_what_is_missing() -> None:
    model = onnx.parser.parse_model(
        """
        <ir_version: 10, opset_import: ["" : 21]>
        g (float[n, 4] x) => (float[n, 4] y) {
            hidden = Relu(x)
            y = Neg(hidden)
        }
        """
    )
    found = [(row.name, row.type, row.producer, row.is_known) for row in rows(model)]
    assert found == [
        ("x", "float32[n, 4]", "input", True),
        ("hidden", "?", "#0 Relu", False),
        ("y", "float32[n, 4]", "#1 Neg", True),
    ]
