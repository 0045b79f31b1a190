"""Repositories of users, run from a copy against this checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "downstream"


@pytest.mark.parametrize(
    ("name", "totals"),
    [
        ("keras_models", {"passed": 7}),
        ("tensorflow_models", {"passed": 4, "xfailed": 2}),
        ("jax_models", {"passed": 8, "unchecked": 1}),
    ],
)
def test_a_repository_of_a_user(tmp_path, name, totals):
    copy = tmp_path / name
    shutil.copytree(FOLDER / name, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    command = [sys.executable, "-m", "pytest", "--yobx", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    report = json.loads((copy / ".yobx" / "report.json").read_text(encoding="utf-8"))
    assert report["totals"] == totals
    assert (copy / ".yobx" / "report.html").stat().st_size > 10_000


def test_every_repository_is_run():
    listed = {
        mark.args[1][i][0] for mark in test_a_repository_of_a_user.pytestmark for i in range(3)
    }
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == listed
