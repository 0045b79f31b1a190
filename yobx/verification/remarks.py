"""What else is to be said of outputs that differ: a model that is no single function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from yobx.verification.arguments import as_pairs, fill, tensors_of
from yobx.verification.boundary import Attempt
from yobx.verification.comparison import resemble
from yobx.verification.evidence import BindingRun
from yobx.verification.preparation import Prepared
from yobx.verification.shape_proof import describe_node
from yobx.verification.sources import GraphSource

__all__ = ["changing_outputs", "drawing_nodes", "graph_agrees", "sizes_looked_at"]

_DRAWS = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)


def graph_agrees(prepared: Prepared, run: BindingRun) -> bool:
    """Whether the graph that was converted gives what the converted model gives.

    Args:
        prepared: The converted model.
        run: A run in which the source, called eagerly, does not.

    Returns:
        Whether the graph sides with the model; where all three differ by rounding, it does not.
    """
    graph = _graph(prepared, run, {})
    return _alike(graph, list(run.actual.values())) and not _alike(graph, _wanted(run))


def sizes_looked_at(prepared: Prepared, run: BindingRun) -> list[str]:
    """Sizes that the model reads while it is traced, and then gives other numbers.

    Args:
        prepared: The converted model.
        run: A run with other numbers than the source gives when it is called.

    Returns:
        The symbols for which the model, traced with their sizes of this run, gives what it gives
        when it is called; none if it gives the same, but for rounding, when it is traced without.
    """
    wanted = _wanted(run)

    def agrees(*names: str) -> bool:
        sizes = {name: run.binding.sizes[name] for name in names}
        return _alike(_graph(prepared, run, sizes), wanted)

    if agrees():
        return []
    names = list(run.binding.sizes)
    alone = [name for name in names if agrees(name)]
    return alone or (names if len(names) > 1 and agrees(*names) else [])


def _wanted(run: BindingRun) -> list[Any]:
    return [value for _, value in run.expected]


def _alike(found: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return len(found) == len(wanted) and all(map(resemble, found, wanted))


def _graph(prepared: Prepared, run: BindingRun, sizes: dict[str, int]) -> list[Any]:
    """Outputs of the traced model; none where that cannot be made: a remark is missed then."""
    found: list[Any] = []
    if isinstance(prepared.source, GraphSource):
        with Attempt():
            options = prepared.options.conversion()
            found = prepared.source.run_graph(run.args, options, sizes) or []
    return found


def changing_outputs(prepared: Prepared, run: BindingRun) -> set[str]:
    """Outputs in which the source does not even agree with itself.

    Args:
        prepared: The converted model.
        run: The run.
    """
    again: list[Any] = []
    with Attempt():  # a source that fails now and did not before is not told to be random
        lent = fill(run.args, [array.copy() for array in tensors_of(run.args)])
        again = [as_pairs(value) for _, value in prepared.source.run(lent)]
    return {
        name
        for got, name, (_, want) in zip(again, run.actual, run.expected, strict=False)
        if not isinstance(want, list) and not resemble(got, want)
    }


def drawing_nodes(model: onnx.ModelProto) -> list[str]:
    """Nodes of a model that draw random numbers, in words."""
    drawing = (node for node in model.graph.node if node.op_type in _DRAWS)
    return [describe_node(model, node.output[0]) for node in drawing]
