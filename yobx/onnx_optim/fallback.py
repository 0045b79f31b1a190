"""What happens to an operator without a rule: schema function body, onnx's inference, unknown."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.registry import RuleResult

__all__ = ["fallback"]


def fallback(view: NodeView) -> Generator[Any, Any, RuleResult]:
    """Descriptors of the outputs of an operator that has no rule."""
    yield from ()
    domain = view.domain or "ai.onnx"
    reason = f"no shape rule for {domain}:{view.op_type} (opset {view.version})"
    return tuple(view.unknown(reason) for _ in range(view.n_outputs))
