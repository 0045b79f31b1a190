"""Whole models: everything stated about every value is compared with runs of onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
from hypothesis import strategies as st

from conformance.shapes.chooser import Chooser
from conformance.shapes.control import control_model
from conformance.shapes.running import Checker, floats, session_of_all_values
from yobx.onnx_optim import ShapesContext, compute_shapes

__all__ = ["check_model", "dims", "drawn", "floats", "infer", "models", "parse"]


def parse(text: str) -> onnx.ModelProto:
    """A model from ONNX's text format, the header left out when it is the usual one."""
    if not text.lstrip().startswith("<"):
        text = '<ir_version: 10, opset_import: ["" : 20]>\n' + text
    model: onnx.ModelProto = onnx.parser.parse_model(text)
    return model


def infer(model: onnx.ModelProto, **options: Any) -> ShapesContext:
    """The context of the inferred model."""
    context = ShapesContext()
    compute_shapes(context, model, **options)
    return context


def dims(context: ShapesContext, name: str) -> list[int | str] | None:
    """Sizes of a tensor as texts and integers, ``None`` for an unknown rank."""
    shape = context.get(name).shape
    return [d.value for d in shape] if shape.has_rank() else None


def check_model(
    model: onnx.ModelProto, feeds: Sequence[Mapping[str, Any]], *, must_run: bool = True
) -> ShapesContext:
    """Infer a model once, run it with each feed, compare every value of the main graph."""
    context = infer(model)
    session, names = session_of_all_values(model, context)
    for feed in feeds:
        checker = Checker({})
        for value in model.graph.input:
            if value.name in feed:
                checker.value(context.lookup(value.name), feed[value.name], value.name)
        try:
            results = session.run(names, dict(feed))
        except Exception:
            if must_run:
                raise
            continue
        for name, got in zip(names, results, strict=True):
            checker.value(context.lookup(name), got, name)
        checker.finish(context)
    return context


class _Drawn(Chooser):
    """Decisions of hypothesis, which makes them smaller when a test fails."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return int(self._draw(st.integers(low, high)))


def drawn(make: Callable[[Chooser], onnx.ModelProto]) -> st.SearchStrategy[onnx.ModelProto]:
    """The models of a generator."""

    @st.composite
    def models_of(draw: Callable[[st.SearchStrategy[Any]], Any]) -> onnx.ModelProto:
        return make(_Drawn(draw))

    return models_of()


def models() -> st.SearchStrategy[onnx.ModelProto]:
    """Models of shape arithmetic, control flow, sequences and functions."""
    return drawn(control_model)
