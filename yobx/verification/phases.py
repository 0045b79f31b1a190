"""Writes the phases of a report while a check goes through them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import onnx

from yobx.errors import InternalError, YobxError
from yobx.verification.boundary import Attempt, told, with_place
from yobx.verification.evidence import CheckResult
from yobx.verification.findings import Outcome, PhaseReport
from yobx.verification.runner import LoadError, RunError

__all__ = ["EndOfCheckError", "PhaseLog"]

_MOST_LINES = 40
# Raised on purpose: their messages say what is wrong with the model.
_TOLD = (YobxError, LoadError, RunError, onnx.checker.ValidationError)


class EndOfCheckError(Exception):
    """Ends a check whose next phase has nothing to work on; never leaves this package."""


class PhaseLog:
    """The phases of one result.

    Args:
        result: Where findings are written.
    """

    def __init__(self, result: CheckResult) -> None:
        self.result = result

    @contextmanager
    def phase(self, name: str, *, stops: bool = True) -> Iterator[PhaseReport]:
        """Times a phase and records what ends it.

        Args:
            name: One of `yobx.verification.PHASES`.
            stops: Whether an exception in it ends the check.

        Yields:
            Its entry. It passes unless the block says otherwise.

        Raises:
            EndOfCheckError: If the block raised and `stops`.
        """
        entry = self.result.report.phase(name)
        start = time.perf_counter()
        with Attempt(EndOfCheckError) as attempt:
            yield entry
        entry.seconds += time.perf_counter() - start
        if attempt.error is not None:
            self._ended(name, attempt.error)
            if stops:
                raise EndOfCheckError from attempt.error
        elif entry.outcome is Outcome.NOT_REACHED:
            entry.outcome = Outcome.PASSED

    def _ended(self, name: str, error: Exception) -> None:
        """Reports what ended a phase; what nobody raised on purpose, with its class and place."""
        if isinstance(error, _TOLD):
            self.fail(name, told(error), error)
        elif name == "import":  # the one phase whose block runs code of the user unguarded
            self.fail(name, with_place(error), error)
        else:
            fault = InternalError(f"internal error of yobx, please report it: {with_place(error)}")
            fault.__cause__ = error
            self.fail(name, told(fault), fault)

    def fail(self, name: str, message: str, error: BaseException | None = None) -> None:
        """Marks a phase as failed.

        Args:
            name: The phase.
            message: What is wrong, in one or more lines.
            error: What was raised, if anything was.
        """
        entry = self.result.report.phase(name)
        entry.outcome = Outcome.FAILED
        for line in message.splitlines()[:_MOST_LINES]:
            if line not in entry.messages:
                entry.messages.append(line)
        if error is not None:
            entry.error_type = type(error).__name__
            self.result.error = error

    def warn(self, name: str, message: str) -> None:
        """Adds a warning to a phase that did not fail."""
        entry = self.result.report.phase(name)
        if entry.outcome is not Outcome.FAILED:
            entry.outcome = Outcome.WARNING
        if message not in entry.messages:
            entry.messages.append(message)

    def remark(self, note: str) -> None:
        """Adds a note to the report, once."""
        notes = self.result.report.notes
        if note not in notes:
            notes.append(note)
