"""What ``verbose`` shows: stages with their times, and a bar for the operations of a long model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Progress"]


class Progress:
    """Reports the stages of a conversion on the error stream; silent at level 0.

    Args:
        verbose: Verbosity level.
    """

    def __init__(self, verbose: int) -> None:
        self._console = None
        self._advance = _nothing
        if verbose:
            from rich.console import Console

            self._console = Console(stderr=True)

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Times a stage.

        Args:
            title: What is being done.

        Yields:
            Nothing.
        """
        if self._console is None:
            yield
            return
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        self._console.print(f"{title}: {seconds:.2f} s", highlight=False, markup=False)

    def note(self, text: str) -> None:
        """Says something about the model.

        Args:
            text: A sentence.
        """
        if self._console is not None:
            self._console.print(f"note: {text}", highlight=False, markup=False)

    @contextmanager
    def operations(self, total: int) -> Iterator[None]:
        """Shows a bar that :meth:`advance` moves.

        Args:
            total: Number of operations.

        Yields:
            Nothing.
        """
        if self._console is None or not self._console.is_terminal:
            yield  # a bar in a file is a heap of control characters
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("converting operations"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Bar(*columns, console=self._console, transient=False) as bar:
            task = bar.add_task("operations", total=total)
            self._advance = lambda: bar.advance(task)
            try:
                yield
            finally:
                self._advance = _nothing

    def advance(self, _op: object = None) -> None:
        """Counts one operation as done."""
        self._advance()


def _nothing() -> None:
    return None
