"""What is said of a check whose process died: which one, what to do, and how it is repeated."""

from __future__ import annotations

import pytest

from pytest_yobx.cases import rerun_command
from pytest_yobx.options import Settings
from pytest_yobx.results import short_name

__all__ = ["crash_text"]

_LEFT_OUT = 'an entry of yobx_expectations with kind = "skip" and phase = "crash" leaves it out'


def crash_text(config: pytest.Config, nodeid: str, words: str, settings: Settings) -> str:
    """The failure text of a crash.

    Args:
        config: The configuration.
        nodeid: The test that ran.
        words: What ended, and how.
        settings: Settings of the session.

    Returns:
        Headline, what to try and the command, a line each.
    """
    if settings.isolate:
        hint = _LEFT_OUT
    else:
        hint = f"--yobx-isolate on, without -n, says how the process ended; {_LEFT_OUT}"
    seed = settings.seed if isinstance(settings.seed, int) else settings.seed[0]
    rerun = rerun_command(config, nodeid, settings, seed, isolate=True)
    return f"yobx: CRASH — {short_name(nodeid)}: {words}\n hint       {hint}\n rerun      {rerun}"
