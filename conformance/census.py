"""All entries of the census of Keras, what has none and why, and the table of their results."""

from __future__ import annotations

import functools
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import keras_layers, keras_ops
from conformance.cells import Cell, Verdict
from conformance.entries import Entry, check, shuffled

__all__ = [
    "RESULTS",
    "WITHOUT_ENTRY",
    "Subject",
    "entries",
    "jobs",
    "missing",
    "sample",
    "subjects",
]

#: What `python -m conformance layers --write` writes and the documentation shows.
RESULTS = Path(__file__).with_name("keras_results.json")

#: Public names of Keras without an entry, and why.
WITHOUT_ENTRY = {
    "layers.FlaxLayer": "a Flax module inside Keras is called as JaxLayer calls its function",
    "layers.InputSpec": "describes inputs and computes nothing",
    "layers.TorchModuleWrapper": "works on Keras's Torch backend only",
    "ops.convert_to_numpy": "leaves the model: it gives an array of numpy, at once",
}


def entries() -> list[Entry]:
    """Every entry about layers, then every entry about ``keras.ops``."""
    return [*keras_layers.entries(), *keras_ops.entries()]


def missing() -> list[str]:
    """Public classes of ``keras.layers`` and functions of ``keras.ops`` without entry or reason."""
    covered = {entry.subject for entry in entries()} | set(WITHOUT_ENTRY)
    return sorted(names[0] for names in _public().values() if not covered & set(names))


def _public() -> dict[Any, list[str]]:
    """Every public object with all of its names, the shortest first."""
    import keras

    ops = keras.ops
    rooms: list[tuple[str, Any, Callable[[Any], bool]]] = [
        ("layers", keras.layers, inspect.isclass),
        ("ops", ops, callable),
    ]
    parts = ("image", "linalg", "nn", "numpy")
    rooms += [(f"ops.{name}", getattr(ops, name), callable) for name in parts]
    found: dict[Any, list[str]] = {}
    for prefix, room, wanted in rooms:
        for name in dir(room):
            member = getattr(room, name)
            if not name.startswith("_") and wanted(member) and not inspect.ismodule(member):
                found.setdefault(member, []).append(f"{prefix}.{name}")
    return found


def jobs(chosen: Iterable[Entry], modes: Iterable[str]) -> list[tuple[str, Callable[[], Cell]]]:
    """The checks of some entries.

    Args:
        chosen: Entries.
        modes: Modes to check them in; an entry may know fewer.

    Returns:
        Name of each cell, and what makes it.
    """
    return [
        (f"{entry.full_name}[{mode}]", functools.partial(check, entry, mode))
        for entry in chosen
        for mode in modes
        if mode in entry.modes
    ]


def sample(count: int) -> list[Entry]:
    """Some entries that stay the same while others come and go.

    Args:
        count: How many.
    """
    return shuffled(entries())[:count]


@dataclass
class Subject:
    """What became of the entries about one class or function.

    Attributes:
        name: Its public name.
        counts: Cells by verdict.
        reasons: Why some are refused, each once.
    """

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)


def subjects(cells: Iterable[Cell]) -> list[Subject]:
    """The cells counted by subject, in alphabetical order.

    Args:
        cells: Results.
    """
    why = {e.full_name: e.reason for e in entries()}
    found: dict[str, Subject] = {}
    for cell in cells:
        subject = found.setdefault(cell.group, Subject(cell.group))
        subject.counts[cell.verdict.value] += 1
        reason = why.get(cell.name.rpartition("[")[0], "")
        refused = cell.verdict in {Verdict.UNSUPPORTED, Verdict.SOURCE}
        if refused and reason and reason not in subject.reasons:
            subject.reasons.append(reason)
    return [found[name] for name in sorted(found)]


def write(cells: Iterable[Cell], versions: dict[str, str]) -> None:
    """Write the results that the documentation shows.

    Args:
        cells: Results of all entries.
        versions: Versions of what they were made with.
    """
    rows = {s.name: {**s.counts, "reasons": s.reasons} for s in subjects(cells)}
    data = {"schema": 1, "versions": versions, "subjects": rows}
    RESULTS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
