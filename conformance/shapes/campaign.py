"""Many random models in a row: no run may refute what is stated of any value."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import onnx
from rich.console import Console
from rich.progress import Progress

from conformance.processes import Ended, outcomes
from conformance.shapes.chooser import Chooser, Seeded
from conformance.shapes.control import control_model
from conformance.shapes.running import RUN_ERRORS, RefutedError, Sizes, Tally, refute
from conformance.shapes.tensors import tensor_model
from conformance.shapes.values import value_model
from yobx.errors import YobxError

__all__ = ["Campaign", "bindings_for", "model_for", "run_campaign"]

_ALWAYS = ((5, 2, 3), (1, 1, 1), (0, 3, 2))
_SIZES = (0, 1, 2, 3, 5)
_EXTRA_BINDINGS = 3
# Control flow finds most; the other two go deeper into tensors and into contents.
_KINDS: tuple[Callable[[Chooser], onnx.ModelProto], ...] = (
    control_model,
    control_model,
    control_model,
    tensor_model,
    value_model,
)
_SHOWN = 20
_BREAKDOWNS: tuple[type[Exception], ...] = (
    *RUN_ERRORS,
    *(YobxError, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError),
)


@dataclass
class Campaign:
    """The result of a campaign.

    Attributes:
        tally: All counts.
        refuted: Number and message of each graph with a statement that a run refutes.
        failed: The same for graphs on which the engine or the comparison broke down.
        died: Numbers of the graphs on which onnxruntime ended the process.
    """

    tally: Tally = field(default_factory=Tally)
    refuted: list[tuple[int, str]] = field(default_factory=list)
    failed: list[tuple[int, str]] = field(default_factory=list)
    died: list[int] = field(default_factory=list)


def model_for(seed: int, number: int) -> onnx.ModelProto:
    """The model of that number; it depends on nothing else."""
    choose = Seeded(f"{seed}/{number}")
    return _KINDS[number % len(_KINDS)](choose)


def bindings_for(seed: int, number: int) -> list[Sizes]:
    """Values of the symbols to run that model with; sizes 0 and 1 are always there."""
    choose = Seeded(f"{seed}/{number}/sizes")
    drawn = [tuple(choose.one_of(_SIZES) for _ in "nmk") for _ in range(_EXTRA_BINDINGS)]
    return [dict(zip("nmk", sizes, strict=True)) for sizes in (*_ALWAYS, *drawn)]


def check(seed: int, number: int) -> tuple[Tally, str, str]:
    """The counts of one model, and the messages of a refutation and of a breakdown."""
    try:
        return refute(model_for(seed, number), bindings_for(seed, number)), "", ""
    except RefutedError as error:
        return Tally(graphs=1), str(error), ""
    # Anything else that happens to a valid model is a finding, and the campaign goes on.
    except _BREAKDOWNS as error:
        return Tally(graphs=1), "", f"{type(error).__name__}: {error}"


def run_campaign(console: Console, *, seed: int, graphs: int, start: int = 0) -> Campaign:
    """Run the models ``start`` to ``start + graphs - 1`` of a seed.

    Args:
        console: Where progress and findings are shown.
        seed: Any integer; the models of a seed are always the same.
        graphs: Number of models.
        start: Number of the first one.
    """
    found = Campaign()
    shown = itertools.count()
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task(f"seed {seed}", total=graphs)
        numbers = range(start, start + graphs)
        for number, result in outcomes(functools.partial(check, seed), numbers):
            progress.advance(bar)
            if isinstance(result, Ended):
                found.died.append(number)
                continue
            tally, refutation, breakdown = result
            found.tally.add(tally)
            for message, kept in ((refutation, found.refuted), (breakdown, found.failed)):
                if message:
                    kept.append((number, message))
                    if next(shown) < _SHOWN:
                        console.print(f"seed {seed} graph {number}: {message[:400]}")
    return found


def report(campaign: Campaign, seed: int, console: Console) -> int:
    """Print the counts; returns 0 when nothing was refuted or broke down, 1 if not, 2 for none."""
    tally = campaign.tally
    console.print(
        f"shapes: seed {seed}, {tally.graphs} graphs, {tally.runs} runs, {tally.values} values, "
        f"{tally.statements} statements, {len(campaign.refuted)} refuted, "
        f"{len(campaign.failed)} breakdowns"
    )
    console.print(
        f"besides: {tally.refused} runs refused, {tally.contradictory} graphs that never run, "
        f"{tally.unloadable} that onnxruntime does not load, {tally.lenient} differences in runs "
        f"that the standard forbids, onnxruntime ended {len(campaign.died)} times "
        f"{campaign.died[:_SHOWN]}"
    )
    if not tally.runs:
        return 2
    return 1 if campaign.refuted or campaign.failed else 0
