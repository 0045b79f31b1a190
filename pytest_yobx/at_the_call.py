"""Failures are shown where the user called, without our frames."""

from __future__ import annotations

from types import TracebackType

import pytest

from pytest_yobx.entries import EntryError

__all__ = ["AtTheCall", "is_ours"]


def is_ours(error: BaseException) -> bool:
    """Whether an error says what is wrong with a call, an entry or a model."""
    from yobx.errors import YobxError

    return isinstance(error, (YobxError, EntryError, pytest.UsageError))


class AtTheCall:
    """Cuts our frames, and what an error was chained to, off what is wrong with a call or a model.

    An error that went through code of the user keeps its traceback, as does one that is not ours.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        if error is None:
            return
        from yobx.places import line_that_raised

        if is_ours(error) and not line_that_raised(error):
            raise error.with_traceback(None) from None
