"""What the command line shows: tables and spinners on a terminal, plain lines anywhere else.

Results go to standard output, everything about the run (stages, errors, hints) to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

__all__ = ["Screen"]


class Screen:
    """Two streams of text; ``rich`` is loaded only where a terminal is there to use it.

    Args:
        out: Stream of the results; standard output when omitted.
        err: Stream of stages and errors; standard error when omitted.
        quiet: Whether stages are left out.
    """

    def __init__(
        self, out: TextIO | None = None, err: TextIO | None = None, *, quiet: bool = False
    ) -> None:
        self._out = sys.stdout if out is None else out
        self._err = sys.stderr if err is None else err
        self._quiet = quiet

    def line(self, text: str = "") -> None:
        """Write one line of result, never wrapped or decorated."""
        self._out.write(f"{text}\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show rows: a table on a terminal, tab-separated lines under a header elsewhere.

        Args:
            columns: Headings.
            rows: One sequence of cells a row, as long as ``columns``.
        """
        if not self._out.isatty():
            self._out.writelines("\t".join(row) + "\n" for row in [columns, *rows])
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        Console(file=self._out).print(table)

    @contextmanager
    def stage(self, text: str) -> Iterator[None]:
        """Tell what is going on while the block runs.

        Args:
            text: The stage, for example ``"converting model.keras"``.
        """
        if self._quiet:
            yield
        elif self._err.isatty():
            from rich.console import Console

            with Console(file=self._err).status(text):
                yield
        else:
            self.note(f"{text} ...")
            yield

    def note(self, text: str) -> None:
        """Write a line about the run, unless the user asked for quiet."""
        if not self._quiet:
            self._err.write(f"{text}\n")
            self._err.flush()

    def error(self, text: str, *hints: str) -> None:
        """Write what went wrong, and what to try.

        Args:
            text: The error; several lines where a list is worth it.
            hints: One line each on what to do next.
        """
        self._err.write(f"error: {text}\n")
        for hint in filter(None, hints):
            self._err.write(f"hint: {hint}\n")
        self._err.flush()
