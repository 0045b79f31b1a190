"""Outputs that are the same whatever goes in, as the mean of a softmax: rounding alone moves them.

No comparison with the source can show more of such an output than that it is that constant. What is
not decidable is another one: a number that depends on the input, of which rounding hides how. The
source in float64 tells them apart. It is run for other inputs too, and where what it gives moves by
a hundredth of the allowance at most, nothing is hidden. A source in float64 has no wider type: what
it gives for other inputs, half as large and half as large again, may move by the allowance itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.verification.arguments import fill, tensors_of
from yobx.verification.comparison import compare
from yobx.verification.dtypes import epsilon_half, is_float, widen
from yobx.verification.error_classes import node_class
from yobx.verification.findings import Outcome, OutputReport
from yobx.verification.magnitudes import magnitude
from yobx.verification.run_comparison import RunComparison
from yobx.verification.tolerances import Tolerances

__all__ = ["constant_outputs", "varied"]


def varied(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The same arguments with other elements, or ``None`` if there are none to be had.

    Floats keep their signs; others are drawn from those that the same tensor has.
    """
    rng = np.random.default_rng(0)
    given = list(map(np.asarray, tensors_of(args)))
    arrays = [_varied(array, rng) for array in given]
    if all(np.array_equal(new, old) for new, old in zip(arrays, given, strict=True)):
        return None
    return tuple(fill(args, arrays))


def _varied(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    if is_float(array.dtype):
        factors = rng.uniform(0.5, 1.5, array.shape)
        return (widen(array) * factors).astype(array.dtype)
    return rng.choice(array.reshape(-1), array.shape) if array.size else array


def constant_outputs(
    undecided: Sequence[OutputReport],
    found: RunComparison,
    exact: Sequence[NDArray[Any]],
    moved: Sequence[NDArray[Any]],
) -> None:
    """Turns what is constant into warnings.

    Args:
        undecided: Reports of outputs of which rounding hides all that they vary.
        found: The run.
        exact: Outputs of the source in float64.
        moved: The same for other inputs.
    """
    run, tolerances = found.run, found.prepared.sensitivity.tolerances
    names = list(run.actual)
    if len(exact) != len(names) or len(moved) != len(names):
        return
    for report in undecided:
        if report.name not in found.allowances:
            continue  # an element of a sequence
        place, allowance = names.index(report.name), found.allowances[report.name]
        got, want = run.actual[report.name], run.expected_by_name[report.name]
        truth, other = exact[place], moved[place]
        if allowance.absolute is None or not truth.shape == other.shape == want.shape:
            continue
        allowed = float(np.median(allowance.absolute))
        terms = _terms(found.prepared.model, report.name, run.values, tolerances)
        size = max(terms, float(np.abs(truth).max(initial=0.0)))
        share = tolerances.weak if epsilon_half(want.dtype) > epsilon_half(truth.dtype) else 1.0
        still = np.abs(other - truth).max(initial=0.0) <= share * allowed
        sides = all(
            compare(report.name, side, truth.astype(side.dtype), allowance).within_rounding
            for side in (got, want)
        )
        if still and sides and allowed <= tolerances.weak * size:
            report.outcome, report.category = Outcome.WARNING, ""
            report.notes.append(
                "constant up to rounding: in float64 the source gives the same for other inputs; "
                "both sides agree with that, and so do the values inside that can be compared"
            )


def _terms(
    model: onnx.ModelProto, name: str, values: Mapping[str, Any], tolerances: Tolerances
) -> float:
    """How large the numbers are that cancel in a result: operands of the sums before it."""
    producers = {o: node for node in model.graph.node for o in node.output if o}
    waiting, seen, largest = [name], {name}, 0.0
    while waiting:
        node = producers.get(waiting.pop())
        if node is None:
            continue
        read = [x for x in node.input if x and x not in seen]
        if node_class(node, tolerances) == "contraction":
            known = [values[x] for x in read if isinstance(values.get(x), np.ndarray)]
            largest = max(largest, *(magnitude(a) for a in known if is_float(a.dtype)), 0.0)
            continue
        seen.update(read)
        waiting += read
    return largest
