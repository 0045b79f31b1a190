"""Runs a TensorFlow graph with the factors of a converted model in the place of its own.

The rules of :mod:`yobx.verification.factorisations` are those of JAX's primitives; here is what
TensorFlow's operations are in their terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yobx.verification.factorisations import Values, equally_good
from yobx.verification.tensorflow_values import graph_function
from yobx.verification.tensorflow_wide import NotRunError, run_graph

__all__ = ["run_with_factors"]

Array = NDArray[Any]
Arrays = Sequence[Array]


@dataclass(frozen=True)
class _Kind:
    """An operation in the terms of a rule.

    Attributes:
        rule: Name of the rule.
        params: Its parameters, from the operation.
        given: Results of the operation as the rule takes them.
        back: And as the operation gives them.
    """

    rule: str
    params: Callable[[Any], Mapping[str, Any]] = lambda op: {}
    given: Callable[[Arrays], Arrays] = lambda results: results
    back: Callable[[Arrays], Arrays] = lambda results: results


def _swapped(results: Arrays) -> Arrays:
    return results[::-1]


def _turned(results: Arrays) -> Arrays:
    """Singular values and vectors, of which JAX gives the right ones as rows."""
    values, *factors = results
    if not factors or factors[1].ndim < 2:  # not asked for
        return [values]
    left, right = factors
    return [values, left, np.conj(np.swapaxes(right, -1, -2))]


def _adjoint(op: Any) -> Mapping[str, Any]:
    return {"adjoint": op.get_attr("adjoint")}


def _triangular(op: Any) -> Mapping[str, Any]:
    adjoint = op.get_attr("adjoint")
    lower = op.get_attr("lower")
    return {
        "lower": lower,
        "unit_diagonal": False,
        "conjugate_a": adjoint,
        "transpose_a": adjoint,
        "left_side": True,
    }


_KINDS = {
    "Cholesky": _Kind("cholesky"),
    "LogMatrixDeterminant": _Kind("determinant", lambda op: {"logarithm": True}),
    "Lu": _Kind("lu", given=lambda r: [*r, r[1]], back=lambda r: r[:2]),
    "MatrixDeterminant": _Kind("determinant", lambda op: {"logarithm": False}),
    "MatrixInverse": _Kind("inverse", _adjoint),
    "MatrixSolve": _Kind("solve", _adjoint),
    "MatrixTriangularSolve": _Kind("triangular_solve", params=_triangular),
    "Qr": _Kind("qr"),
    "SelfAdjointEigV2": _Kind("eigh", lambda op: {"lower": True}, _swapped, _swapped),
    "Svd": _Kind("svd", given=_turned, back=_turned),
}


def run_with_factors(
    function: Any, inputs: Sequence[Any], values: Mapping[str, Any], factor: float
) -> tuple[list[Any], list[str]] | None:
    """Runs a traced function; factors of the model that are as good take the place of its own.

    Args:
        function: A ``ConcreteFunction``.
        inputs: Tensors for its arguments.
        values: Values of the converted model by name, results last.
        factor: What is allowed, times size, machine epsilon and norm.

    Returns:
        Outputs in order and the factorisations where that was done; ``None`` if nowhere.
    """
    if not any(op.type in _KINDS for op in _all_operations(function.graph)):
        return None  # and nothing is copied
    graph, known = _inlined(function).graph, Values(values)
    operations = [op for op in graph.get_operations() if op.type in _KINDS]
    if any(op.type in _KINDS for op in _all_operations(graph) if op.graph is not graph):
        return _turn_by_turn(function, inputs, known, factor)
    given, done = dict(zip((t.name for t in graph.inputs), inputs, strict=True)), []
    for op in operations:
        read = _evaluated(graph, given, [*op.inputs, *op.outputs])
        made = _found(op, read[: len(op.inputs)], read[len(op.inputs) :], known, factor)
        if made is not None:
            done.append(op.type)
            given.update(zip((t.name for t in op.outputs), made, strict=False))
    return (_evaluated(graph, given, graph.outputs), done) if done else None


def _found(op: Any, operands: Arrays, results: Arrays, known: Values, factor: float) -> Any:
    """Results of the model that are as good as those of an operation, or ``None``."""
    kind = _KINDS[op.type]
    made = equally_good(
        kind.rule, kind.params(op), operands, kind.given(results), values=known, factor=factor
    )
    return None if made is None else kind.back(made)


def _turn_by_turn(
    function: Any, inputs: Sequence[Any], known: Values, factor: float
) -> tuple[list[Any], list[str]] | None:
    """The same where factors are computed in loops or branches, which are run turn by turn."""
    import tensorflow as tf

    done: list[str] = []

    def watch(op: Any, operands: list[Any], results: list[Any], turn: int | None) -> list[Any]:
        if op.type not in _KINDS:
            return results
        read, given = ([np.asarray(a) for a in side] for side in (results, operands))
        made = _found(op, given, read, known.at(turn), factor)
        if made is None:
            return results
        done.append(op.type)
        return [*map(tf.constant, made), *results[len(made) :]]

    try:
        outputs, _ = run_graph(
            function.graph, [*inputs, *function.captured_inputs], wide=False, watch=watch
        )
    except NotRunError:
        return None
    return ([np.asarray(a) for a in outputs], done) if done else None


def _all_operations(graph: Any) -> Iterator[Any]:
    """Operations of a graph and of all functions that it refers to."""
    from yobx.tensorflow.graph_walk import nested_bodies

    graphs = [graph]
    for one in graphs:
        for op in one.get_operations():
            yield op
            graphs += [body.graph for body in nested_bodies(op) if body.graph not in graphs]


def _inlined(function: Any) -> Any:
    """The function without calls, so that all operations are in one graph."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    return convert_variables_to_constants_v2(function, lower_control_flow=False)


def _evaluated(graph: Any, given: Mapping[str, Any], tensors: Sequence[Any]) -> list[Array]:
    feeds = [graph.get_tensor_by_name(name) for name in given]
    wanted = [tensor.name for tensor in tensors if tensor.name not in given]
    found = dict(given)
    if wanted:
        run = graph_function(graph, feeds, wanted)
        found.update(zip(wanted, run(*given.values()), strict=True))
    return [np.asarray(found[tensor.name]) for tensor in tensors]
