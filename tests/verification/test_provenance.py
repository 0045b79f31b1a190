"""Facts about a node that converters write, and nothing else, are read."""

from __future__ import annotations

import onnx
import pytest

from yobx.verification.provenance import facts_of


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({}, {}),
        ({"torch.name": "other"}, {}),
        (
            {"yobx.op": "Relu", "yobx.line": "model.py:3", "x": "y"},
            {"op": "Relu", "line": "model.py:3"},
        ),
    ],
)
def test_only_facts_of_converters_are_read(written: dict[str, str], read: dict[str, str]) -> None:
    node = onnx.NodeProto()
    for key, value in written.items():
        node.metadata_props.add(key=key, value=value)
    assert facts_of(node) == read
