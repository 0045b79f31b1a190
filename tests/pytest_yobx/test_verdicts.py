"""What makes a run red, and failures that are told once."""

from __future__ import annotations

import json

import pytest

from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]

PRIMES = ("--yobx", "--yobx-bindings", "primes")


def report(pytester):
    return json.loads((pytester.path / ".yobx" / "report.json").read_text())


@pytest.fixture
def night(pytester):
    """A repository of which one model failed last night."""
    write_repository(pytester, ["good", "wrong"])
    run(pytester, *PRIMES)
    (pytester.path / ".yobx" / "report.json").rename(pytester.path / "night.json")
    return (*PRIMES, "--yobx-baseline", "night.json", "--yobx-fail-on", "regressions")


def test_known_failures_are_accepted_when_only_regressions_are_red(pytester, night):
    result = run(pytester, *night)
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["1 failing check failed in night.json too: accepted*"])


def test_a_regression_is_red(pytester, night):
    zoo = pytester.path / "zoo.py"
    zoo.write_text(
        zoo.read_text().replace("return Model(), (X,)\n", 'return Model("values"), (X,)\n', 1)
    )
    result = run(pytester, *night)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["1 new failure since night.json. This run is red."])


def test_a_failing_test_of_another_kind_is_red(pytester, night):
    pytester.makepyfile(test_own="def test_own(): assert False")
    assert run(pytester, *night).ret == pytest.ExitCode.TESTS_FAILED


def test_regressions_need_a_baseline(pytester):
    write_repository(pytester, ["good"])
    result = run(pytester, *PRIMES, "--yobx-fail-on", "regressions")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*add --yobx-baseline FILE*"])


def test_a_check_that_compares_nothing_is_red_when_asked(pytester):
    write_repository(pytester, ["good"])
    pytester.makepyfile(
        test_own="""
        import pytest
        def test_own(assert_converts): pytest.skip("not today")
        """
    )
    assert run(pytester, *PRIMES).ret == pytest.ExitCode.OK
    result = run(pytester, *PRIMES, "--yobx-fail-on", "untested")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["1 check skipped or comparing nothing, *test_own*"])


@pytest.mark.parametrize(("model", "phase"), [("convert", "convert"), ("raising", "import")])
def test_a_model_that_cannot_be_made_is_told_once(pytester, model, phase):
    write_repository(pytester, [model, "good"])
    result = run(pytester, "--yobx", "-rs")
    result.assert_outcomes(failed=1, skipped=2, passed=3)
    result.stdout.fnmatch_lines([f"*not reached: {phase} failed, see zoo:{model}?primes]*"])
    (failed,) = (row for row in report(pytester)["results"] if row["outcome"] == "failed")
    assert failed["reports"][0]["failed_phase"] == phase
    assert "opset 0" not in result.stdout.str()


def test_a_factory_that_raises_can_be_expected(pytester):
    write_repository(pytester, ["raising"])
    entry = '[[expect]]\ncase = "zoo:raising*"\nphase = "import"\nreason = "weights are lost"\n'
    (pytester.path / "expected.toml").write_text(f"schema = 1\n{entry}")
    result = run(pytester, "--yobx", "--yobx-expectations", "expected.toml")
    result.assert_outcomes(xfailed=1, skipped=2, passed=1)
    assert result.ret == pytest.ExitCode.OK


def test_a_factory_that_raises_shows_the_line(pytester):
    write_repository(pytester, ["raising"])
    run(pytester, *PRIMES).stdout.fnmatch_lines(["*zoo.py:*", "*OSError: no weights here*"])


def test_a_check_of_emptiness_alone_is_red_when_asked(pytester):
    write_repository(pytester, ["good"])
    flags = ("--yobx", "--yobx-bindings", "zeros", "--yobx-fail-on")
    result = run(pytester, *flags, "any")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["warning: zoo:good?zeros?: every output is empty: only dtypes*"])
    result = run(pytester, *flags, "untested")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["1 check skipped or comparing nothing, *zoo:good?zeros?*"])
