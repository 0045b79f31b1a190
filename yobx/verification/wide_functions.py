"""Whether a converted graph is another function than its source, computed in float64 on both sides.

A piece of the graph in float64 that agrees with onnxruntime tells of the converter only if the
source means something else. The source itself may be off, where its own type has no room for what
it computes: then, in float64, it gives what the converted graph gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.verification.arguments import as_pairs
from yobx.verification.boundary import Attempt
from yobx.verification.dtypes import is_float
from yobx.verification.inner_comparison import Evidence
from yobx.verification.reference64 import evaluate, piece
from yobx.verification.sources import Way, WideSource
from yobx.verification.tolerances import load_tolerances
from yobx.verification.verdict64 import alike, distance, errors

__all__ = ["MOST_NODES", "graph_is_off", "source_is_off"]

#: The reference is slow: larger graphs are not computed as a whole.
MOST_NODES = 400


def source_is_off(evidence: Evidence, output: str) -> str:
    """Why a graph that differs from its source is the same function, or ``""``.

    Args:
        evidence: The failing run.
        output: Name of a wrong output.
    """
    ours, theirs = evidence.values[output], evidence.expected[output]
    arrays = isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray)
    if not arrays or ours.shape != theirs.shape or len(evidence.model.graph.node) > MOST_NODES:
        return ""
    whole = piece(evidence.model, list(evidence.feeds), output, evidence.feeds)
    if _flushes(evidence, whole, ours, theirs):
        return (
            "with zeros in the place of inputs that are subnormal, with the source → its framework "
            "has the processor flush them"
        )
    return "" if _is_double(theirs) else _wide_words(evidence, output, whole)


def graph_is_off(evidence: Evidence, output: str) -> str:
    """Why the graph is off whose own float64 tells nothing, or ``""``.

    Its constants are as narrow in float64 as they were; those of the source need not be.

    Args:
        evidence: The failing run.
        output: Name of a wrong output.
    """
    source, ours, theirs = evidence.source, evidence.values[output], evidence.expected[output]
    if not isinstance(source, WideSource) or not isinstance(theirs, np.ndarray):
        return ""
    if _is_double(theirs) or not is_float(theirs.dtype) or np.shape(ours) != theirs.shape:
        return ""
    wide = _in_float64(source, evidence, output)
    if wide is None or wide.shape != theirs.shape:
        return ""
    if distance(wide, theirs) >= load_tolerances().nearer * distance(wide, ours):
        return ""
    return (
        f"the source, computed in float64, gives its own result ({distance(wide, theirs):.1e} "
        f"away, onnxruntime {distance(wide, ours):.1e}) → the converted graph is less exact than "
        "the source"
    )


def _in_float64(source: WideSource, evidence: Evidence, output: str) -> NDArray[Any] | None:
    """An output of the source in float64; ``None`` if its trace is another function."""
    index, made = list(evidence.expected).index(output), evidence.in_float64
    ours, theirs = evidence.values[output], evidence.expected[output]
    if made is None:
        with Attempt():  # a source that does not run in float64 says nothing
            made = source.run_in_float64(evidence.args, evidence.options)
    if made is None:
        return None
    traced = [_result(way, index, evidence) for way in made.own]
    if not any(own is not None and _same(own, theirs, ours, theirs) for own in traced):
        return None
    return _result(made.wide, index, evidence)


def _flushes(
    evidence: Evidence, whole: onnx.ModelProto, ours: NDArray[Any], theirs: NDArray[Any]
) -> bool:
    """Whether the source gives what the graph does where subnormal inputs are zeros."""
    flushed = {name: _flushed(array) for name, array in evidence.feeds.items()}
    if not any(np.any(flushed[name] != array) for name, array in evidence.feeds.items()):
        return False
    exact = evaluate(whole, flushed)
    return exact is not None and _same(np.asarray(exact), theirs, ours, theirs)


def _wide_words(evidence: Evidence, output: str, whole: onnx.ModelProto) -> str:
    """Why the source is off, which gives in float64 what the graph does, or ``""``."""
    source, ours, theirs = evidence.source, evidence.values[output], evidence.expected[output]
    if not isinstance(source, WideSource):
        return ""
    wide = _in_float64(source, evidence, output)
    exact = evaluate(whole, evidence.feeds)
    if wide is None or exact is None or not _same(np.asarray(exact), wide, ours, theirs):
        return ""
    where = _worst(ours, theirs)
    return (
        f"so does the source, computed in float64: at {[int(i) for i in where]} the converted "
        f"graph gives {_number(exact, where)} there and the source {_number(wide, where)}, in its "
        f"own type {_number(theirs, where)} → the source is off"
    )


def _flushed(array: NDArray[Any]) -> NDArray[Any]:
    """Inputs as a processor sees them that takes subnormal numbers for zeros."""
    if array.dtype.name not in {"float32", "float64"}:
        return array
    return np.where(np.abs(array) < np.finfo(array.dtype).smallest_normal, 0, array)


def _is_double(array: NDArray[Any]) -> bool:
    """Whether float64 has no more bits than the source."""
    return array.dtype.name in {"float64", "complex128"}


def _result(way: Way, index: int, evidence: Evidence) -> NDArray[Any] | None:
    outputs: Any = ()
    with Attempt():  # as above
        outputs = way()
    if len(outputs) != len(evidence.expected):
        return None
    return np.asarray(as_pairs(np.asarray(outputs[index])))


def _same(one: NDArray[Any], other: NDArray[Any], ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    return one.shape == other.shape == theirs.shape and alike(one, other, ours, theirs)


def _worst(ours: NDArray[Any], theirs: NDArray[Any]) -> tuple[Any, ...]:
    """Index of the element that is furthest off; one that is finite on one side alone is first."""
    error = errors(ours, theirs)
    error = np.where(np.isfinite(error), error, np.inf)
    return np.unravel_index(int(np.argmax(error)), error.shape)


def _number(array: Any, where: tuple[Any, ...]) -> str:
    return f"{np.asarray(array)[where]:.9g}"
