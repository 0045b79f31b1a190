"""Random graphs of tensor operators with symbolic sizes: no statement is refuted by a run."""

from __future__ import annotations

import itertools

import onnx
from hypothesis import HealthCheck, given, note, settings

from conformance.shapes.running import refute
from conformance.shapes.tensors import tensor_model
from tests.onnx_optim.running import drawn

BINDINGS = [
    dict(zip("nmk", sizes, strict=True)) for sizes in itertools.product((0, 1, 2, 3, 5), repeat=3)
]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn(tensor_model))
def test_no_statement_is_refuted(model: onnx.ModelProto) -> None:
    note(onnx.printer.to_text(model))
    refute(model, BINDINGS)
