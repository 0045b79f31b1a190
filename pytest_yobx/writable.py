"""Whether reports and artifacts can be written, asked before a long run instead of after it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from pytest_yobx.options import Settings

__all__ = ["refuse_unwritable", "report_file"]


def report_file(settings: Settings, kind: str) -> Path:
    """``report.json``, or ``report-1of3.json`` of a part.

    Args:
        settings: Settings of the session.
        kind: ``json`` or ``html``.

    Returns:
        The file.
    """
    part = "" if settings.shard is None else f"-{settings.shard[0]}of{settings.shard[1]}"
    return settings.folder / f"report{part}.{kind}"


def refuse_unwritable(settings: Settings) -> None:
    """Refuses a folder that will not take what the run leaves. Nothing is left by asking.

    Raises:
        pytest.UsageError: With the path that is in the way.
    """
    there = settings.folder
    while not there.exists() and there != there.parent:
        there = there.parent
    existing = [report_file(settings, kind) for kind in settings.report if kind != "none"]
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
        for there in filter(Path.exists, existing):
            with there.open("ab"):
                pass
    except OSError as error:
        why = f"{error.strerror or error}: {there}"
        if isinstance(error, FileNotFoundError):  # a folder of the system, in which none is made
            why = f"the folder {there} takes no new files"
        raise pytest.UsageError(
            f"yobx: reports and artifacts cannot be written to {settings.folder}: {why}. "
            "Give another folder with --yobx-artifacts DIR, "
            "or the ini value yobx_artifacts"
        ) from error
