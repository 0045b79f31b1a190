"""Parts of a run, each a file that grows by a line a cell, and what all of them say together.

The first line is the plan: what is checked, with which versions. A part that was interrupted goes
on where it ended; `merge` refuses a part that is not complete.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.console import Console

from conformance.cells import Cell, Verdict
from conformance.processes import Ended, outcomes

__all__ = [
    "Part",
    "PartError",
    "Plan",
    "Reporter",
    "compute",
    "counts",
    "load_parts",
    "problems",
    "run",
]

#: Cells of one process; JAX and TensorFlow keep what they compiled.
_LIFE = 400
#: Seconds between two lines about the progress.
_EVERY = 60.0


class PartError(RuntimeError):
    """A file of results does not belong to this run, or says nothing."""


@dataclass(frozen=True)
class Plan:
    """What a part does.

    Attributes:
        kind: Which set of cells.
        search: Only cells with it in the name.
        shard: Which part, of how many.
        versions: Versions of the packages that make the results.
        attendance: Names of the cells.
    """

    kind: str
    search: str
    shard: tuple[int, int]
    versions: Mapping[str, str]
    attendance: Sequence[str]

    @property
    def whole(self) -> str:
        """What all parts together are."""
        return f"{self.kind} with {self.search!r}" if self.search else self.kind

    def differs(self, other: Plan) -> list[str]:
        """Names of the attributes in which two plans differ."""
        return [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]


@dataclass(frozen=True)
class Part:
    """A file of results.

    Attributes:
        path: Where it is.
        plan: What it is about.
        cells: Results so far, by name; the last of a cell counts.
    """

    path: Path
    plan: Plan
    cells: dict[str, Cell]

    @classmethod
    def read(cls, path: Path) -> Part:
        """Read a part; a last line that was cut off is left out.

        Raises:
            PartError: If there is no plan.
        """
        whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
        lines = [json.loads(line) for line in whole.splitlines()]
        if not lines:
            raise PartError(f"{path} does not begin with a plan.")
        lines[0]["shard"] = tuple(lines[0]["shard"])
        cells = [Cell.from_dict(line) for line in lines[1:]]
        return cls(path, Plan(**lines[0]), {cell.name: cell for cell in cells})

    @classmethod
    def begin(cls, folder: Path, plan: Plan) -> Part:
        """Begin a part, or go on with the one of an earlier run.

        Raises:
            PartError: If the file that is there was made by another run.
        """
        index, count = plan.shard
        path = folder / f"part-{index}-of-{count}.jsonl"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(plan)) + "\n", encoding="utf-8")
            return cls(path, plan, {})
        part = cls.read(path)
        differing = part.plan.differs(plan)
        if differing:
            raise PartError(
                f"Results of different runs are kept apart. {path} was begun with other "
                f"{', '.join(differing)}. Give another folder, or delete it."
            )
        lines = [asdict(plan), *(cell.as_dict() for cell in part.cells.values())]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return part

    def add(self, cell: Cell) -> None:
        """Keep a result, in memory and in the file."""
        self.cells[cell.name] = cell
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cell.as_dict()) + "\n")


class Reporter:
    """Prints what does not pass, and now and then how far a run is."""

    def __init__(self, console: Console, total: int) -> None:
        """Args: where to print, and how many cells there are."""
        self._console = console
        self._total = total
        self._cells: list[Cell] = []
        self._start = self._said = time.time()

    def add(self, cell: Cell) -> None:
        """Tell of one more cell."""
        self._cells.append(cell)
        if cell.verdict is not Verdict.PASS:
            number = f"{len(self._cells)}/{self._total}"
            text = f"{number} {cell.verdict:11} {cell.name[:90]} {cell.message[:160]}"
            self._console.print(text)
        now = time.time()
        if now - self._said >= _EVERY:
            self._said = now
            self._console.print(self.progress(now))

    def progress(self, now: float) -> str:
        """How far it is, how fast, when it ends, and the counts."""
        done = len(self._cells)
        rate = done / max(now - self._start, 1e-9)
        end = time.strftime("%H:%M", time.localtime(now + (self._total - done) / rate))
        return f"{done}/{self._total}, {rate:.2f}/s, ends at {end}: {counts(self._cells)}"


def counts(cells: Iterable[Cell]) -> str:
    """How many cells there are of each verdict."""
    found = Counter(cell.verdict for cell in cells)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in Verdict)


def run(
    part: Part,
    check: Callable[[str], Cell],
    console: Console,
    again: Collection[Verdict] = (),
) -> list[Cell]:
    """Compute the cells that a part does not have yet.

    Args:
        part: What was begun.
        check: Makes a cell of its name; can be pickled.
        console: Where progress is shown.
        again: Cells of these verdicts are computed once more.

    Returns:
        All cells of the part. A cell that ended its process is broken.
    """
    done = {name for name, cell in part.cells.items() if cell.verdict not in again}
    left = [name for name in part.plan.attendance if name not in done]
    if done:
        console.print(f"{len(done)} cells are there, {len(left)} are left")
    for cell in _computed(left, check, console):
        part.add(cell)
    return [part.cells[name] for name in part.plan.attendance]


def compute(names: Sequence[str], check: Callable[[str], Cell], console: Console) -> list[Cell]:
    """Compute cells in other processes without keeping them in a file.

    Args:
        names: Their names.
        check: Makes a cell of its name; can be pickled.
        console: Where progress is shown.
    """
    return list(_computed(names, check, console))


def _computed(
    names: Sequence[str], check: Callable[[str], Cell], console: Console
) -> Iterator[Cell]:
    reporter = Reporter(console, len(names))
    for name, result in outcomes(check, names, life=_LIFE):
        cell = _crash(name, result) if isinstance(result, Ended) else result
        reporter.add(cell)
        yield cell


def _crash(name: str, ended: Ended) -> Cell:
    text = f"the process ended with exit code {ended.code}"
    return Cell(name, "crash", Verdict.BROKEN, "crash", text)


def load_parts(folder: Path) -> list[Part]:
    """Read all parts in a folder and below it."""
    return [Part.read(path) for path in sorted(folder.rglob("part-*-of-*.jsonl"))]


def problems(parts: Sequence[Part], least: Mapping[str, int]) -> list[str]:
    """Say which parts or cells are missing, and whether there are fewer than there were.

    Args:
        parts: What was run.
        least: How many cells a kind of run has at least.

    Returns:
        One line for each problem.
    """
    found = [] if parts else ["there is no part"]
    for whole in sorted({part.plan.whole for part in parts}):
        these = [part for part in parts if part.plan.whole == whole]
        shards = {part.plan.shard for part in these}
        sizes = {count for _, count in shards}
        if len(sizes) > 1 or len(shards) < len(these):
            found.append(f"{whole}: shards of different runs: {sorted(shards)}")
        missing = {(i, n) for n in sizes for i in range(1, n + 1)} - shards
        found += [f"{whole}: shard {i}/{n} is missing" for i, n in sorted(missing)]
        total = sum(len(part.cells) for part in these)
        if total < least.get(whole, 0):
            found.append(f"{whole}: {total} cells, and there were {least[whole]}")
    for part in parts:
        gaps = [name for name in part.plan.attendance if name not in part.cells]
        found += [f"{name} has no result" for name in gaps]
    names = Counter(name for part in parts for name in part.cells)
    return found + [f"{name} has two results" for name, times in names.items() if times > 1]
