"""Cells of the matrix: every case with static and dynamic shapes at several opsets."""

from __future__ import annotations

import functools
import re
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import onnxruntime

from conformance.cells import Cell, Verdict
from conformance.tf_ops import NIGHTLY, SUBJECTS, subject_cases
from conformance.tf_ops.cases import Case, MismatchError, check_mode, modes_of
from yobx.errors import TraceError, YobxError
from yobx.lowering.opsets import DEFAULT_OPSET, OLDEST_OPSET, newest_opset

__all__ = ["CellName", "cell_of", "names", "opsets", "parse"]

_NAME = re.compile(r"tf/([^/]+)/(.*)\[(static|dynamic),opset (\d+)\]", re.DOTALL)
_STATE = onnxruntime.capi.onnxruntime_pybind11_state
_REFUSED_TO_RUN = tuple(
    found
    for found in vars(_STATE).values()
    if isinstance(found, type) and issubclass(found, Exception)
)


class CellName(NamedTuple):
    """What the name of a cell says."""

    subject: str
    case: str
    mode: str
    opset: int

    def __str__(self) -> str:
        """The name itself."""
        return f"tf/{self.subject}/{self.case}[{self.mode},opset {self.opset}]"


def opsets() -> tuple[int, ...]:
    """The oldest opset, the one that models get, and the newest that onnxruntime loads."""
    return (OLDEST_OPSET, DEFAULT_OPSET, newest_opset())


def names(
    versions: Iterable[int], subjects: Iterable[str] = (*SUBJECTS, *NIGHTLY)
) -> Iterator[str]:
    """Names of cells: of one subject after the other, each at one opset after the other.

    Args:
        versions: Target opsets.
        subjects: Some of `SUBJECTS` and `NIGHTLY`; all of both by default.
    """
    every = tuple(dict.fromkeys(versions))
    for subject in subjects:
        for opset in every:
            for case in subject_cases(subject):
                for mode in modes_of(case):
                    yield str(CellName(subject, case.name, mode, opset))


def parse(name: str) -> CellName:
    """Read the name of a cell.

    Args:
        name: As `names` yields it.

    Raises:
        ValueError: If it is none.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"A cell is named 'tf/subject/case[mode,opset N]'. Received: {name!r}.")
    return CellName(match[1], match[2], match[3], int(match[4]))


def cell_of(name: str) -> Cell:
    """Convert a case, run it and compare.

    Args:
        name: Name of the cell.
    """
    said = parse(name)
    case = _by_name(said.subject)[said.case]
    group = f"tf/{case.op_type or said.subject}"
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict, phase, message = _outcome(case, said.mode, said.opset)
    seconds = time.perf_counter() - start
    return Cell(name, group, verdict, phase, " ".join(message.split())[:600], seconds)


@functools.cache
def _by_name(subject: str) -> dict[str, Case]:
    return {case.name: case for case in subject_cases(subject)}


def _outcome(case: Case, mode: str, opset: int) -> tuple[Verdict, str, str]:
    """Verdict, phase that failed and message."""
    try:
        check_mode(case, mode, opset)
    except MismatchError as error:
        return Verdict.WRONG, "values", str(error)
    except TraceError as error:
        return Verdict.BROKEN, "trace", str(error)
    except YobxError as error:
        text = f"{type(error).__name__}: {error}"
        honest = Verdict.UNSUPPORTED if _is_expected(case, error, opset) else Verdict.BROKEN
        return honest, "convert", text
    except _REFUSED_TO_RUN as error:
        return Verdict.BROKEN, "run", str(error)
    if case.refused:
        return Verdict.BROKEN, "", f"declared {case.refused!r}, and passes"
    return Verdict.PASS, "", ""


def _is_expected(case: Case, error: YobxError, opset: int) -> bool:
    """Whether an error is a clear refusal, and one that the case declares.

    Operators are missing at other opsets than the usual one: there it needs no declaration.
    """
    if not type(error).__name__.startswith("Unsupported"):
        return False
    return case.refused in str(error) if case.refused else opset != DEFAULT_OPSET
