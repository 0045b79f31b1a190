from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]

BINDINGS = ("--yobx", "--yobx-bindings", "primes,ones")
ISOLATED = (*BINDINGS, "--yobx-isolate", "on", "-p", "no:xdist")


def outcomes(pytester):
    data = json.loads((pytester.path / ".yobx" / "report.json").read_text())
    return {row["nodeid"].rpartition(":")[2]: row["outcome"] for row in data["results"]}


def test_a_crash_ends_one_test(pytester):
    write_repository(pytester, ["good", "crash", "wrong"])
    result = run(pytester, *ISOLATED, "--junitxml", "junit.xml")
    result.assert_outcomes(passed=2, failed=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "yobx: CRASH — zoo:crash?primes?: the process that ran this test ended with *9",
            " hint       an entry of yobx_expectations with kind = *",
            ' rerun      pytest "pyproject.toml::zoo:crash?primes?" --yobx --yobx-isolate "on" *',
        ]
    )
    assert outcomes(pytester) == {
        "good[primes]": "passed",
        "good[ones]": "passed",
        "crash[primes]": "crash",
        "crash[ones]": "crash",
        "wrong[primes]": "failed",
        "wrong[ones]": "failed",
    }
    assert (pytester.path / ".yobx" / "report.html").exists()
    assert (pytester.path / "junit.xml").read_text().count("<testcase") == 6


def test_a_signal_is_named(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import os, signal
        def test_own(assert_converts): os.kill(os.getpid(), signal.SIGSEGV)
        def test_next(): pass
        """
    )
    result = run(pytester, *ISOLATED)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_own: the process that ran this test ended by SIGSEGV"])


def test_the_report_is_that_of_a_run_without(pytester):
    write_repository(pytester, ["good", "wrong", "convert", "raising"])
    run(pytester, *ISOLATED)
    isolated = outcomes(pytester)
    run(pytester, *ISOLATED, "--yobx-isolate", "off")
    assert outcomes(pytester) == isolated
    assert len(isolated) == 8


def test_a_model_is_still_converted_once_and_fixtures_end_once(pytester):
    write_repository(pytester, ["ready"])
    pytester.makepyfile(
        test_zz="""
        import pytest
        from zoo import ready

        @pytest.fixture(scope="session")
        def resource():
            yield
            with open("ended.txt", "a") as file: file.write("ended")

        def test_count(resource): assert ready.conversions == 1
        """
    )
    run(pytester, *ISOLATED).assert_outcomes(passed=3)
    assert (pytester.path / "ended.txt").read_text() == "ended"


def test_the_first_failure_ends_the_run_where_asked(pytester):
    write_repository(pytester, ["wrong", "good"])
    result = run(pytester, *ISOLATED, "-x")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_output_of_a_failing_test_is_shown(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        def test_own(assert_converts):
            print("last words")
            assert 0
        """
    )
    run(pytester, *ISOLATED).stdout.fnmatch_lines(["*Captured stdout call*", "last words"])


@pytest.mark.parametrize("how", [ISOLATED, (*BINDINGS, "-p", "no:xdist"), (*BINDINGS, "-n", "1")])
def test_control_c_leaves_a_report(pytester, how):
    write_repository(pytester, ["good"])
    pytester.makepyfile(
        test_own="""
        import pathlib, time
        def test_own(assert_converts):
            pathlib.Path("waiting").touch()
            time.sleep(60)
        """
    )
    command = [sys.executable, "-m", "pytest", *how]
    # A job in the background ignores the signal, and its children would too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [*command, "-p", "no:cacheprovider"],
            cwd=pytester.path,
            start_new_session=True,
            stdout=subprocess.PIPE,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 60
    while not (pytester.path / "waiting").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    output = process.communicate(timeout=30)[0].decode()
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in output
    found = outcomes(pytester)
    assert {found["good[primes]"], found["good[ones]"]} == {"passed"}
    assert "crash" not in found.values()
    (reason,) = json.loads((pytester.path / ".yobx" / "report.json").read_text())["red"]
    assert reason.startswith("1 check not made, test_own.py::test_own first: the run ended")
