"""One cell of the matrix, and the file that says which cells are known not to pass."""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yobx.verification import ConversionReport

__all__ = ["KNOWN", "Cell", "Known", "Verdict", "declared", "judge", "load_known"]

KNOWN = Path(__file__).with_name("known.toml")


class Verdict(enum.StrEnum):
    """What became of a cell."""

    PASS = "pass"
    UNSUPPORTED = "unsupported"
    """Refused at conversion with a clear error."""
    SOURCE = "source"
    """The framework itself does not run the case."""
    BROKEN = "broken"
    """There is neither a model nor a clear refusal, or the model is invalid or does not run."""
    WRONG = "wrong"
    """The model runs and differs."""


_PHASES = dict.fromkeys(("import", "trace", "check", "load", "run"), Verdict.BROKEN)
_PHASES["convert"] = Verdict.UNSUPPORTED


@dataclass(frozen=True)
class Cell:
    """The result of one case.

    Attributes:
        name: ``source/case``, stable between runs.
        group: What the case is about, for example a JAX primitive.
        verdict: What became of it.
        phase: The phase that failed, or ``""``.
        message: The first lines of the failure, or ``""``.
        seconds: Wall time.
    """

    name: str
    group: str
    verdict: Verdict
    phase: str = ""
    message: str = ""
    seconds: float = 0.0

    @classmethod
    def of_report(cls, name: str, group: str, report: ConversionReport) -> Cell:
        """Read a report.

        Args:
            name: Name of the cell.
            group: What it is about.
            report: What ``check_conversion`` found.

        Returns:
            The cell; a report that compared nothing is wrong, not passed.
        """
        if report.passed:
            return cls(name, group, Verdict.PASS, seconds=report.seconds)
        phase = report.failed_phase
        message = " ".join(report.text().split())[:600]
        verdict = _PHASES.get(phase, Verdict.WRONG)
        if phase == "convert" and not report.phase(phase).error_type.startswith("Unsupported"):
            verdict = Verdict.BROKEN
        return cls(name, group, verdict, phase, message, report.seconds)

    def as_dict(self) -> dict[str, Any]:
        """The cell as JSON data."""
        return {**asdict(self), "verdict": self.verdict.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cell:
        """Read what :meth:`as_dict` wrote."""
        return cls(**{**data, "verdict": Verdict(data["verdict"])})


@dataclass(frozen=True)
class Known:
    """A cell that is declared not to pass, or several.

    Attributes:
        cell: Its name, or a pattern with ``*`` for any text.
        verdict: What becomes of it.
        reason: Why.
    """

    cell: str
    verdict: Verdict
    reason: str


def load_known(path: Path = KNOWN) -> dict[str, Known]:
    """Read the declared cells.

    Args:
        path: A TOML file with ``[[known]]`` entries.

    Returns:
        The entries by name of the cell.

    Raises:
        ValueError: If an entry is declared twice or has no reason.
    """
    found: dict[str, Known] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("known", []):
        known = Known(entry["cell"], Verdict(entry["verdict"]), entry.get("reason", ""))
        if known.cell in found or not known.reason:
            problem = "declared twice" if known.cell in found else "without a reason"
            raise ValueError(f"{path.name}: {known.cell} is {problem}.")
        found[known.cell] = known
    return found


def declared(name: str, known: Mapping[str, Known]) -> Known | None:
    """Find what is declared of a cell.

    Args:
        name: Its name.
        known: All that is declared.

    Returns:
        The entry with its name, or else the first whose pattern it fits; None if there is none.
    """
    if name in known:
        return known[name]
    patterns = (entry for text, entry in known.items() if "*" in text)
    return next((entry for entry in patterns if fnmatchcase(name, entry.cell)), None)


def judge(cells: Iterable[Cell], known: Mapping[str, Known]) -> list[str]:
    """Say what is not as declared.

    A refusal at conversion is an honest answer and needs no declaration; a model that is broken or
    wrong does, and a declared cell that behaves otherwise has to leave the file. A pattern says
    nothing about cells that the framework itself does not run.

    Args:
        cells: Results.
        known: Declared cells; those that were not run are ignored.

    Returns:
        One line for each surprise.
    """
    surprises = []
    for cell in cells:
        entry = declared(cell.name, known)
        if entry is not None and entry.cell != cell.name and cell.verdict is Verdict.SOURCE:
            continue
        if entry is not None and cell.verdict is not entry.verdict:
            surprises.append(f"{cell.name}: {cell.verdict}, declared {entry.verdict}")
        elif entry is None and cell.verdict in {Verdict.BROKEN, Verdict.WRONG}:
            surprises.append(f"{cell.name}: {cell.verdict}: {cell.message}")
    return surprises
