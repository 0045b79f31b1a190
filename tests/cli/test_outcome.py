"""Every exception becomes one message and one exit code."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest

from yobx.cli.console import Screen
from yobx.cli.outcome import Boundary, ExitCode
from yobx.errors import (
    ArgumentError,
    GraphError,
    InternalError,
    UnreadableModelError,
    UnsupportedOpError,
    VerificationError,
)


def _outcome(error: BaseException, *, show_traceback: bool = False) -> tuple[int, str]:
    err = io.StringIO()
    boundary = Boundary(Screen(io.StringIO(), err), show_traceback=show_traceback)
    with boundary:
        raise error
    return boundary.code, re.sub(r"\S*test_outcome\.py:\d+", "HERE", err.getvalue())


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ArgumentError("wrong axis"), ExitCode.USAGE, "error: wrong axis\n"),
        (VerificationError("y differs"), ExitCode.DIFFERENCE, "error: y differs\n"),
        (UnsupportedOpError("no X"), ExitCode.MODEL, "error: no X (at HERE, in _outcome)\n"),
        (GraphError("bad node"), ExitCode.MODEL, "error: bad node (at HERE, in _outcome)\n"),
        (UnreadableModelError("bad m"), ExitCode.MODEL, "error: bad m (at HERE, in _outcome)\n"),
        (InternalError("oops"), ExitCode.INTERNAL, "error: oops\n"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "error: interrupted\n"),
        (FileNotFoundError(2, "No such file", "a.onnx"), 3, "error: No such file: a.onnx\n"),
    ],
)
def test_own_errors(error: BaseException, code: int, text: str) -> None:
    assert _outcome(error) == (code, text)


def test_error_of_the_users_code_is_one_line_and_a_hint() -> None:
    code, text = _outcome(ZeroDivisionError("division\nby zero"))
    assert code == ExitCode.MODEL
    assert text == (
        "error: ZeroDivisionError: division by zero (at HERE, in _outcome)\n"
        "hint: add --traceback to see where it was raised\n"
    )


def test_notes_of_an_error_are_told() -> None:
    error = KeyError("low")
    error.add_note("While converting Relu 'hidden'.")
    _, text = _outcome(error)
    assert text.startswith("error: KeyError: 'low' While converting Relu 'hidden'. (at HERE")


def test_a_reader_that_stops_is_no_error() -> None:
    command = [sys.executable, "-m", "yobx", "ops", "--onnx"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == ExitCode.CUT_OFF


def test_missing_framework_names_the_extra() -> None:
    _, text = _outcome(ModuleNotFoundError("No module named 'jax'", name="jax.numpy"))
    assert (
        text == "error: No module named 'jax'\nhint: in a clone of yobx: pip install \".[jax]\"\n"
    )


def test_an_argument_of_the_library_is_told_as_an_option() -> None:
    code, text = _outcome(ArgumentError("no such axis", argument="dynamic_shapes"))
    assert code == ExitCode.USAGE
    assert text == "error: no such axis\nhint: on the command line: --dynamic\n"


def test_traceback_on_request() -> None:
    _, text = _outcome(ValueError("bad"), show_traceback=True)
    assert "test_outcome.py" in text
    assert "Traceback (most recent call last)" in text


def test_system_exit_passes() -> None:
    with pytest.raises(SystemExit), Boundary(Screen(io.StringIO(), io.StringIO())):
        raise SystemExit(5)
