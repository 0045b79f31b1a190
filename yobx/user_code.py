"""Where code of the user runs while a framework traces it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from yobx.errors import TraceError, YobxError

__all__ = ["UserCode"]


class UserCode:
    """A ``with`` block around code of the user: what that raises is chained to an error of yobx.

    What yobx raises in it on purpose passes, as do interrupts and exits.

    Args:
        told: Says what was raised, by what, and what to try. An error that it raises is told in
            the place of its result.
    """

    def __init__(self, told: Callable[[Exception], TraceError]) -> None:
        self._told = told

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, YobxError):
            raise self._told(error) from error
