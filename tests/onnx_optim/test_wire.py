"""Lengths as protocol buffers write them."""

from __future__ import annotations

import onnx
import pytest

from yobx.onnx_optim.wire import length_delimited


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 3_000_000])
def test_a_field_reads_back(size: int) -> None:
    text = "x" * size
    node = onnx.NodeProto()
    node.MergeFromString(length_delimited(b"\x1a", text.encode()))
    assert node.name == text
