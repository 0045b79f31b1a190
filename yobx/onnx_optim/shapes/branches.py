"""`If`: both branches, and what they share."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import onnx

from yobx.errors import ShapeError
from yobx.onnx_optim.assumptions import facts_of
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.declared import DeclarationError
from yobx.onnx_optim.merging import DimFor, merge
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import Steps, register
from yobx.onnx_optim.shapes._endings import first_output
from yobx.onnx_optim.subgraphs import infer_body_steps, subgraph_of

__all__ = ["truth"]


def truth(descriptor: Descriptor | None) -> bool | None:
    """Value of a condition, or ``None``."""
    found = descriptor.scalar() if isinstance(descriptor, OptimTensor) else None
    return None if found is None or not found.is_int() else bool(found.as_int())


@register("If")
def if_(view: NodeView) -> Steps:
    """Both branches are inferred; a known condition picks one, else what they share is kept.

    Each branch may rely on what the condition says of sizes when it is taken.
    """
    condition = truth(view.inputs[0] if view.inputs else None)
    then_graph, else_graph = subgraph_of(view, "then_branch"), subgraph_of(view, "else_branch")
    mark = view.context.session.checkpoint()
    then_child, then_out = yield _branch_steps(view, "then_branch", then_graph, taken_if=True)
    else_child, else_out = yield _branch_steps(view, "else_branch", else_graph, taken_if=False)
    if isinstance(then_out, ShapeError) and isinstance(else_out, ShapeError):
        raise then_out
    if condition is None and isinstance(then_out, ShapeError):
        condition = False
    elif condition is None and isinstance(else_out, ShapeError):
        condition = True
    if condition is not None:
        child, chosen = (then_child, then_out) if condition else (else_child, else_out)
        if isinstance(chosen, ShapeError):
            raise chosen
        view.context.constraints_store.adopt(child.constraints_store)
        return tuple(chosen)
    if len(then_out) != len(else_out):
        view.fail(f"the branches of If have {len(then_out)} and {len(else_out)} outputs")
    local = view.context.session.local_symbols(mark)
    return tuple(
        merge(a, b, _branch_dim(view, i, local, (then_child, else_child)))
        for i, (a, b) in enumerate(zip(then_out, else_out, strict=True))
    )


def _branch_steps(
    view: NodeView, attribute: str, graph: onnx.GraphProto, *, taken_if: bool
) -> Generator[Any, Any, tuple[ShapesContext, list[Descriptor] | ShapeError]]:
    """Infer a branch; one that cannot run (`Squeeze` of a size 5) is never the one taken."""
    name = view.input_names[0] if view.inputs else ""
    facts = facts_of(view.context, view.index, name, holds=taken_if)
    try:
        found: tuple[ShapesContext, list[Descriptor]] = yield infer_body_steps(
            view, attribute, graph, (), facts
        )
    except DeclarationError:
        raise
    except ShapeError as error:
        view.context.reasons[f"{first_output(view)}/{attribute}"] = f"never taken: {error}"
        child = view.context.subgraph_context(view.index, attribute)
        view.context.drop_subgraph_context(view.index, attribute)
        return child, error
    return found


def _branch_dim(
    view: NodeView,
    output: int,
    local: frozenset[str],
    branches: tuple[ShapesContext, ShapesContext],
) -> DimFor:
    """A size that differs between the branches: a new symbol, at most the greater one.

    The size of one branch stands for both where it is that of the other one, too, given what
    holds there: 1 and `n` are `n` when the first is taken for `n == 1`.
    """
    origins = view.context.session.origins

    def visible(dim: OptimDim) -> OptimDim | None:
        """The size, or a bound of it, in words that the enclosing graph knows."""
        if local.isdisjoint(dim.symbols()):
            return dim
        origin = origins.get(str(dim)) if dim.is_symbol() else None
        return visible(origin.upper) if origin is not None and origin.upper is not None else None

    def chosen(a: OptimDim, b: OptimDim, axis: int) -> OptimDim:
        for child, kept in zip(branches, (b, a), strict=True):
            if local.isdisjoint(kept.symbols()) and child.simplify(a) == child.simplify(b):
                return kept
        left, right = visible(a), visible(b)
        upper = OptimDim.max(left, right) if left is not None and right is not None else None
        reason = f"the branches give different sizes: {a} and {b}"
        return view.fresh(axis, reason, output=output, upper=upper)

    return chosen
