"""Which values of a converted model JAX too computes in 16 bits.

The program that JAX lowers a function to says the type of every result. An operation is told by its
name stack and its own name, which the nodes carry that came of it; several of the same place are
told apart by their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import onnx

from yobx.onnx_optim.model_io import subgraphs as all_graphs
from yobx.verification.provenance import origin_of

__all__ = ["narrow_results"]

# Result types of the operations of one place, in order: name of the operation, name of the dtype.
_Made = dict[str, list[tuple[str, str]]]


def narrow_results(
    model: onnx.ModelProto, module: Any, values: Mapping[str, str]
) -> frozenset[str]:
    """Finds the values that are results of the program in the type that a cast makes them.

    Args:
        model: What the program was converted to.
        module: The program, a module of StableHLO.
        values: Name of an ONNX value -> ``float16`` or ``bfloat16``.

    Returns:
        Those of the values whose operation gives that type in the program.
    """
    from yobx.jax.program import results_of

    made: _Made = {}
    for layer, name, kind in results_of(module):
        if not kind.endswith(("float16", "float32")):
            continue
        made.setdefault(layer.partition("/")[2], []).append((name, kind))
    nodes = [node for graph in all_graphs([model.graph]) for node in graph.node]
    runs: dict[tuple[str, str], list[set[str]]] = {}
    for place, group in groupby(nodes, key=_place):
        runs.setdefault(place, []).append({name for node in group for name in node.output})
    found: set[str] = set()
    for (layer, operation), turns in runs.items():
        entries = made.get(layer, [])
        own = [kind for name, kind in entries if name == operation]
        kinds = own or [kind for _, kind in entries]  # several operations may be fused in one
        for turn, names in enumerate(turns):
            said = set(kinds[turn : turn + 1] if len(kinds) == len(turns) else kinds)
            # A pair of casts may be left out, and a cast says its type itself.
            free = operation == "stablehlo.convert"
            found |= {
                n
                for n in names & values.keys()
                if said == {values[n]} or (free and values[n] in said)
            }
    return frozenset(found)


def _place(node: onnx.NodeProto) -> tuple[str, str]:
    """Name stack without the outermost function, and operation, that a node came of."""
    layer, operation, *_ = origin_of(node) or ("", "")
    return layer.partition("/")[2], operation
