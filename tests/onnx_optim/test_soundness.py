"""Random graphs of shape arithmetic, control flow and sequences: no run refutes a statement."""

from __future__ import annotations

import onnx
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from rich.console import Console

from conformance.shapes.campaign import bindings_for, model_for, run_campaign
from conformance.shapes.running import RefutedError, refute
from tests.onnx_optim.running import models, parse
from yobx.onnx_optim import OptimTensor, register_shape_function
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.registry import REGISTRY

SIZES = (0, 1, 2, 3, 5)


def sizes_of(pairs: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"n": n, "m": m} for n, m in pairs]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(models(), st.lists(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)), max_size=2))
def test_no_run_refutes_a_statement(model: onnx.ModelProto, sizes: list[tuple[int, int]]) -> None:
    note(onnx.printer.to_text(model))
    refute(model, sizes_of([(5, 2), (1, 1), (0, 3), *sizes]))


def test_a_false_statement_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: a wrong size, a wrong bound, a wrong refusal."""
    monkeypatch.setattr(REGISTRY, "_rules", REGISTRY.copy()._rules)
    monkeypatch.setattr(REGISTRY, "memo", {})
    model = parse("g (float[n, m] x, float[n, 3] w) => (y) { y = Relu (x) }")
    assert refute(model, sizes_of([(2, 4), (0, 1)])).runs == 2

    def swapped(node: NodeView) -> OptimTensor:
        return OptimTensor(node.tensor(0).dtype, list(reversed(node.tensor(0).shape.dims())))

    register_shape_function("", "Relu", 14, replace=True)(swapped)
    with pytest.raises(RefutedError, match="axis 0 of y"):
        refute(model, sizes_of([(2, 4)]))

    def bounded(node: NodeView) -> OptimTensor:
        node.at_most(node.tensor(0).shape[0], 1)
        return node.tensor(0)

    register_shape_function("", "Relu", 14, replace=True)(bounded)
    with pytest.raises(RefutedError, match="n <= 1"):
        refute(model, sizes_of([(2, 4)]))

    def refusing(node: NodeView) -> OptimTensor:
        node.fail("never")

    register_shape_function("", "Relu", 14, replace=True)(refusing)
    with pytest.raises(RefutedError, match="called contradictory"):
        refute(model, sizes_of([(2, 4)]))


def test_a_campaign_is_the_same_every_time() -> None:
    texts = [onnx.printer.to_text(model_for(7, number)) for number in range(10)]
    assert texts == [onnx.printer.to_text(model_for(7, number)) for number in range(10)]
    assert texts != [onnx.printer.to_text(model_for(8, number)) for number in range(10)]
    for number in range(20):
        sizes = {size for binding in bindings_for(7, number) for size in binding.values()}
        assert sizes >= {0, 1}


def test_a_campaign_counts() -> None:
    found = run_campaign(Console(quiet=True), seed=1, graphs=25)
    assert found.tally.graphs + len(found.died) == 25
    assert found.tally.runs > 25
    assert found.tally.statements > found.tally.values > found.tally.runs
    assert not found.refuted
    assert not found.failed
