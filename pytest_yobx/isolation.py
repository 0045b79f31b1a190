"""Runs the tests in a child process: if it dies, the test it ran is a crash, and a new one goes on.

The child is forked before any framework is imported, runs one test after the other as a worker
does, and sends pytest's reports back. pytest-xdist gives the same with its own workers.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from typing import Any

import pytest

from pytest_yobx.collection import settings_of
from pytest_yobx.crashes import crash_text
from pytest_yobx.results import Collected

__all__ = ["run_isolated", "unavailable"]


def unavailable() -> str:
    """Why tests cannot be isolated here, or ``""``."""
    return "" if hasattr(os, "fork") else "this system cannot fork: use pytest -n 1 instead"


def run_isolated(session: pytest.Session, collected: Collected) -> None:
    """Runs all items of a session.

    Args:
        session: The session.
        collected: Where crashes are noted.

    Raises:
        pytest.Session.Failed: As pytest's own loop does, on ``-x``.
        pytest.Session.Interrupted: As pytest's own loop does.
    """
    items = list(session.items)
    while items:
        done = _one_child(session, items, collected)
        items = items[done:]
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def _one_child(session: pytest.Session, items: list[pytest.Item], collected: Collected) -> int:
    """Runs items until the child dies or all are done; returns how many are done."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        reader.close()
        _child(session, items, writer)
    writer.close()
    done, running, ended = 0, None, False
    try:
        while (message := _next(reader)) is not None:
            kind, content = message
            if kind == "start":
                running = items[done]
                running.ihook.pytest_runtest_logstart(
                    nodeid=running.nodeid, location=running.location
                )
            elif kind == "report":
                _log(session.config, content)
            else:
                _finish(items[done])
                done, running = done + 1, None
                if session.shouldfail or session.shouldstop:
                    return done
        ended = True
    finally:
        if not ended:  # -x, or Ctrl-C
            os.kill(pid, signal.SIGKILL)
        reader.close()
        status = _reap(pid)
    if running is not None:
        _crash(session.config, running, collected, status)
        _finish(running)
        done += 1
    return done


def _next(reader: Connection) -> tuple[str, Any] | None:
    try:
        message: tuple[str, Any] = reader.recv()
    except (EOFError, OSError):
        return None
    return message


def _reap(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _log(config: pytest.Config, data: dict[str, Any]) -> None:
    report = config.hook.pytest_report_from_serializable(config=config, data=data)
    config.hook.pytest_runtest_logreport(report=report)


def _finish(item: pytest.Item) -> None:
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _crash(config: pytest.Config, item: pytest.Item, collected: Collected, status: int) -> None:
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit code {status}"
    words = f"the process that ran this test ended {how}"
    text = crash_text(config, item.nodeid, words, settings_of(config))
    report = pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=text,
        when="call",
    )
    config.hook.pytest_runtest_logreport(report=report)
    collected.crash(item.nodeid, text)


# ---- in the child --------------------------------------------------------------------------------


class _Sender:
    """Sends reports instead of showing them."""

    def __init__(self, config: pytest.Config, writer: Connection) -> None:
        self._config, self._writer = config, writer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sends one."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._writer.send(("report", data))


def _child(session: pytest.Session, items: list[pytest.Item], writer: Connection) -> None:
    code = 1
    try:
        config = session.config
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_Sender(config, writer), "yobx-sender")
        for index, item in enumerate(items):
            following = items[index + 1] if index + 1 < len(items) else None
            writer.send(("start", None))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            writer.send(("finish", None))
        code = 0
    finally:
        # Nothing of the session may end twice: no exit handlers, no summary.
        os._exit(code)
