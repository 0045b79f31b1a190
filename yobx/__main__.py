"""Entry point of ``yobx`` and ``python -m yobx``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from yobx.cli.console import Screen
from yobx.cli.parser import build_parser, parse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Arguments without the program's name; those of the process when omitted.

    Returns:
        The exit code, see :class:`yobx.cli.outcome.ExitCode`.
    """
    options = parse(sys.argv[1:] if argv is None else argv)
    if options.command is None:
        build_parser().print_help(sys.stderr)
        return 2
    from yobx.cli.outcome import Boundary, ExitCode

    screen = Screen(quiet=options.quiet)
    boundary = Boundary(screen, show_traceback=options.traceback)
    code = 0
    with boundary:
        # Each command is a module that imports what it needs and nothing before it is asked.
        code = int(importlib.import_module(f"yobx.cli.{options.command}").run(options, screen))
        sys.stdout.flush()
    if boundary.code == ExitCode.CUT_OFF:
        # What is left in the buffer has no reader; at exit Python would complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(boundary.code or code)


if __name__ == "__main__":
    sys.exit(main())
