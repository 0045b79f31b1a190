"""Cells of the matrix: every case with static and dynamic shapes at several opsets."""

from __future__ import annotations

import functools
import re
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import onnxruntime

from conformance.cells import Cell, Verdict
from conformance.tf_ops import NIGHTLY, SUBJECTS, subject_cases
from conformance.tf_ops.cases import Case, MismatchError, check_mode, modes_of
from conformance.tf_ops.refusals import Declared, is_declared, write
from yobx.errors import (
    TraceError,
    UnsupportedAttributeError,
    UnsupportedDtypeError,
    UnsupportedOpError,
    UnsupportedOpsetError,
    YobxError,
)
from yobx.lowering.opsets import DEFAULT_OPSET, OLDEST_OPSET, newest_opset

__all__ = ["CellName", "cell_of", "names", "opsets", "parse", "settle"]

_NAME = re.compile(r"tf/([^/]+)/(.*)\[(static|dynamic),opset (\d+)\]", re.DOTALL)
_STATE = onnxruntime.capi.onnxruntime_pybind11_state
_REFUSED_TO_RUN = tuple(
    found
    for found in vars(_STATE).values()
    if isinstance(found, type) and issubclass(found, Exception)
)

#: Errors that say what cannot be converted, and what can.
_REFUSALS = (
    UnsupportedAttributeError,
    UnsupportedDtypeError,
    UnsupportedOpError,
    UnsupportedOpsetError,
)
#: Phases of cells at other opsets than the usual one: refused, and declared to be but not refused.
_REFUSED, _NOT_REFUSED = "refused", "not refused"


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
        verdict, phase, message = _outcome(case, said)
    seconds = time.perf_counter() - start
    return Cell(name, group, verdict, phase, " ".join(message.split())[:600], seconds)


@functools.cache
def _by_name(subject: str) -> dict[str, Case]:
    return {case.name: case for case in subject_cases(subject)}


def _outcome(case: Case, said: CellName) -> tuple[Verdict, str, str]:
    """Verdict, phase that failed and message."""
    declared = said.opset != DEFAULT_OPSET and is_declared(said.opset, said.subject, said.case)
    try:
        check_mode(case, said.mode, said.opset)
    except MismatchError as error:
        return Verdict.WRONG, "values", str(error)
    except YobxError as error:
        verdict, phase = _refusal(case, error, said.opset, declared)
        return verdict, phase, f"{type(error).__name__}: {error}"
    except _REFUSED_TO_RUN as error:
        return Verdict.BROKEN, "run", str(error)
    if case.refused:
        return Verdict.BROKEN, "", f"declared {case.refused!r}, and passes"
    if declared:
        return Verdict.BROKEN, _NOT_REFUSED, "declared to be refused at this opset, and passes"
    return Verdict.PASS, "", ""


def _refusal(case: Case, error: YobxError, opset: int, declared: bool) -> tuple[Verdict, str]:
    """Verdict and phase of an error: whether it is a clear refusal, and a declared one."""
    if isinstance(error, TraceError):
        return Verdict.BROKEN, "trace"
    if not isinstance(error, _REFUSALS):
        return Verdict.BROKEN, "convert"
    if case.refused and case.refused in str(error):
        return Verdict.UNSUPPORTED, "convert"
    if opset == DEFAULT_OPSET:
        return Verdict.BROKEN, "convert"
    return Verdict.UNSUPPORTED if declared else Verdict.BROKEN, _REFUSED


def settle(cells: Iterable[Cell], *, whole: bool) -> tuple[list[Cell], list[str], list[str]]:
    """Declare what was refused at other opsets than the usual one, and what no longer is.

    Args:
        cells: As `cell_of` made them.
        whole: Whether these are the cells of all cases.

    Returns:
        The cells as they are with these declarations, the names of the new declarations, and those
        of the ones that are gone.
    """
    settled = {_REFUSED: Verdict.UNSUPPORTED, _NOT_REFUSED: Verdict.PASS}
    found = [
        replace(c, verdict=settled[c.phase], phase=c.phase if c.phase == _REFUSED else "")
        if c.phase in settled
        else c
        for c in cells
    ]
    checked, refused = set(), set()
    for cell in found:
        said = parse(cell.name)
        key = Declared(said.opset, said.subject, said.case)
        checked.add(key)
        if cell.phase == _REFUSED:
            refused.add(key)
    return found, *write(refused, None if whole else checked)
