"""Conditions as TensorFlow 1 writes them: values switched into branches, and merged behind them.

Loops are no longer there: a graph with frames is written again when it is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import lists
from yobx.tensorflow.conversion import current_conversion
from yobx.tensorflow.graph_walk import merged_predicate
from yobx.tensorflow.ops._complex import COMPLEX
from yobx.tensorflow.ops._lists import check_even, is_list, merge_shaped, shaped_of
from yobx.tensorflow.ops._op import ALL, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_VALUES = (*ALL, *COMPLEX, "variant")


@register_tf_op_converter("Switch", dtypes=_VALUES)
def convert_switch(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The value itself on both sides: both branches are computed, and one is chosen behind them."""
    for name in outputs:
        g.alias(name, op.inputs[0].name)
    return outputs[0]


@register_tf_op_converter("Merge", dtypes=_VALUES)
def convert_merge(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The value of the branch that the predicate chooses, and which input it was."""
    found = merged_predicate(op)
    if found is None:
        unsupported(
            op,
            "two branches of one condition are merged",
            f"{len(op.inputs)} values, not on two sides of one predicate",
            "Trace the model with TensorFlow 2, which writes If and While.",
        )
    predicate, first = found[0].name, found[1]
    order = [0, 1] if first == 0 else [1, 0]
    values = [op.inputs[i].name for i in order]
    numbers = [np.array(i, np.int32) for i in order]
    known = g.get_constant(predicate)
    if known is not None:
        g.alias(outputs[0], values[int(known)])
        g.make_initializer(outputs[1], numbers[int(known)])
        return outputs[0]
    g.op.Where(predicate, numbers[1], numbers[0], outputs=outputs[1:2])
    branches: list[tuple[GraphBuilder, dict[int, lists.Shaped]]] = []
    for value in values:
        branch = g.subgraph(g.unique_name("branch"), inputs=[])
        known_of_list: dict[int, lists.Shaped] = {}
        if is_list(op.outputs[0]):
            check_even(g, op, value)
            known_of_list[0] = shaped_of(g, value)
        chosen = branch.op.Identity(value)
        branch.make_tensor_output(branch.unique_name("chosen"), source=chosen)
        branches.append((branch, known_of_list))
    shaped = merge_shaped(g, branches, op.name)
    states = [state for state in shaped.values() if isinstance(state, str)]
    (else_branch, _), (then_branch, _) = branches
    g.op.If(
        predicate,
        then_branch=then_branch,
        else_branch=else_branch,
        outputs=[outputs[0], *states],
        name=op.name,
    )
    for state in shaped.values():
        current_conversion().shaped[outputs[0]] = state
    return outputs[0]
