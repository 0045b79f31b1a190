"""Whether pytest reads the settings of the repository it was started in.

It looks for them before it knows the flags of plugins: the value of one that is written after a
blank and names a file or a folder that exists is taken for a place of tests, and pytest looks for
its settings above both.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_yobx.options import OPTIONS

__all__ = ["refuse_lost_settings"]

_SECTIONS = {
    "pytest.toml": r"",
    ".pytest.toml": r"",
    "pytest.ini": r"",
    ".pytest.ini": r"",
    "pyproject.toml": r"^\[tool\.pytest\b",
    "tox.ini": r"^\[pytest\]",
    "setup.cfg": r"^\[tool:pytest\]",
}


def refuse_lost_settings(config: pytest.Config) -> None:
    """Refuses a flag whose value made pytest read other settings, or none: fewer models are found.

    Args:
        config: The session's configuration.

    Raises:
        pytest.UsageError: With the flag, and how it is written.
    """
    if hasattr(config, "workerinput") or config.getoption("inifilename", None):
        return  # a worker is told, and so is pytest by -c
    flags = {option.flag for option in OPTIONS}
    start = config.invocation_params.dir
    for flag, value in pairwise(str(arg) for arg in config.invocation_params.args):
        if flag not in flags or not value or not (start / value).exists():
            continue
        wanted = _settings_above(start)
        if wanted is not None and wanted != config.inipath:
            raise pytest.UsageError(
                f"{flag} {value}: pytest takes the value for a place of tests and reads "
                f"{config.inipath or 'no settings'} in place of {wanted}. Write {flag}={value}"
            )


def _settings_above(start: Path) -> Path | None:
    """The file of settings that pytest finds from a folder without arguments."""
    for folder in (start, *start.parents):
        for name, section in _SECTIONS.items():
            file = folder / name
            if file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace")
                if re.search(section, text, re.MULTILINE):
                    return file
    return None
