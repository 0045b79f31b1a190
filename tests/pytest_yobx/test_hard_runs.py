"""Runs that are repeated, cut short, or full of strange names."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]

PRIMES = ("--yobx", "--yobx-bindings", "primes")

# What pytest-rerunfailures does, in short.
RERUNS = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(3):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        again = attempt < 2 and any(report.failed for report in reports)
        for report in reports:
            if again and report.failed:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
        if not again:
            break
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""

FLAKY = """
from pathlib import Path
from fake_framework import Model, X

def flaky():
    path = Path("count")
    tries = int(path.read_text()) if path.exists() else 0
    path.write_text(str(tries + 1))
    return Model("values" if tries < 1 else ""), (X,)
"""


def results(pytester):
    report = json.loads((pytester.path / ".yobx" / "report.json").read_text())
    return {row["nodeid"].partition("::")[2]: row for row in report["results"]}, report


@pytest.mark.parametrize("how", [(), ("-n", "1"), ("--yobx-isolate", "on")])
def test_a_check_that_is_run_again_starts_anew(pytester, how):
    write_repository(pytester, ["wrong"])
    pytester.makepyfile(more=FLAKY)
    pytester.makeconftest("import fake_framework\nfake_framework.install()\n" + RERUNS)
    pytester.makepyprojecttoml(
        '[tool.pytest.ini_options]\nyobx_models = ["more:flaky", "zoo:wrong"]\n'
    )
    result = run(pytester, *PRIMES, *how)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    rows, report = results(pytester)
    assert report["totals"] == {"failed": 1, "passed": 1}
    for name, passed in (("more:flaky[primes]", True), ("zoo:wrong[primes]", False)):
        assert [r["passed"] for r in rows[name]["reports"]] == [passed]
    result.stdout.fnmatch_lines(["warning: more:flaky?primes?: failed before it was run again"])
    # What the first attempt left is gone.
    folders = [path.name for path in (pytester.path / ".yobx").iterdir() if path.is_dir()]
    assert [name.partition("primes")[0] for name in folders] == ["pyproject.toml-zoo-wrong-"]


def test_artifacts_of_an_older_failure_go_and_files_of_the_user_stay(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import os
        from fake_framework import Model, X
        FAULT = os.environ.get("FAULT", "")

        def test_plain(assert_converts): assert_converts(Model(FAULT), (X,))
        def test_files(assert_converts, yobx_artifacts):
            (yobx_artifacts / "mine.txt").write_text("kept")
            assert_converts(Model(FAULT), (X,))
        def test_twice(assert_converts):
            if FAULT:
                try: assert_converts(Model(FAULT), (X,))
                except AssertionError: pass
            assert_converts(Model(), (X,))
        """
    )
    pytester._monkeypatch.setenv("FAULT", "values")
    run(pytester, *PRIMES).assert_outcomes(failed=2, passed=1)
    folders = {p.name.split("-")[1] for p in (pytester.path / ".yobx").iterdir() if p.is_dir()}
    assert folders == {"test_plain", "test_files", "test_twice"}
    pytester._monkeypatch.delenv("FAULT")
    run(pytester, *PRIMES).assert_outcomes(passed=3)
    left = [p for p in (pytester.path / ".yobx").iterdir() if p.is_dir()]
    assert [p.name.split("-")[1] for p in left] == ["test_files"]
    assert [p.name for p in left[0].iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "code"), [((), pytest.ExitCode.INTERRUPTED), (("-x",), pytest.ExitCode(1))]
)
def test_a_run_that_ends_early_says_what_is_missing(pytester, arguments, code):
    write_repository(pytester, [])
    pytester.makepyfile(
        more="""
        from fake_framework import Model, X
        def first(): return Model(), (X,)
        def wrong(): return Model("values"), (X,)
        def stop(): raise KeyboardInterrupt
        def last(): return Model(), (X,)
        """
    )
    pytester.makepyprojecttoml(
        "[tool.pytest.ini_options]\n"
        'yobx_models = ["more:first", "more:wrong", "more:stop", "more:last"]\n'
    )
    result = run(pytester, *PRIMES, *arguments)
    assert result.ret == code
    _, report = results(pytester)
    assert report["totals"] == {"failed": 1, "passed": 1}
    assert report["red"] == [
        "2 checks not made, pyproject.toml::more:stop[primes] first: the run ended before. "
        "This run is red."
    ]
    assert (pytester.path / ".yobx" / "report.html").exists()


def test_names_cannot_spoil_the_terminal_or_the_reports(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        more=r"""
        from fake_framework import Model, X
        NAME = "C:\\models\\new\x1b[31m\nsecond\u202eline \x07 <script>]]> \U0001f600"
        def strange(): return Model("values", name=NAME), (X,), {"name": NAME}
        """
    )
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["more:strange"]\n')
    result = run(pytester, *PRIMES, "--junitxml", "junit.xml", "--color=no")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert r"model C:\models\new\x1b[31m\nsecond\u202eline \x07 <script>]]> " in text
    ElementTree.parse(pytester.path / "junit.xml")
    page = (pytester.path / ".yobx" / "report.html").read_text(encoding="utf-8")
    assert "<script>]]>" not in page
    (folder,) = (p for p in (pytester.path / ".yobx").iterdir() if p.is_dir())
    assert pytester.runpython(folder / "repro.py").ret == 1


def test_a_failing_check_that_a_test_swallows_is_told(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import threading
        import pytest
        from fake_framework import Model, X

        def test_swallowed(assert_converts):
            try: assert_converts(Model("values"), (X,))
            except AssertionError: pass
        def test_expected(assert_converts):
            with pytest.raises(AssertionError): assert_converts(Model("shapes"), (X,))
        def test_right(assert_converts): assert_converts(Model(), (X,))
        """
    )
    result = run(pytester, *PRIMES)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines_random(
        [
            "warning: test_swallowed: a check failed in the phase values, and the test passed",
            "warning: test_expected: a check failed in the phase shapes, and the test passed",
        ]
    )
    assert "warning: test_right" not in result.stdout.str()


def test_parameters_may_hold_anything(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own=r"""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx
        @pytest.mark.parametrize("name", ["a/b\\c::d", "e[f]", "é", "", "same", "same"])
        def test_it(name): return Model("values" if name == "e[f]" else "", name=name), (X,)
        """
    )
    write_expected = (
        'schema = 1\n[[expect]]\ncase = "test_it[*-e[f]]"\nphase = "values"\nreason = "known"\n'
    )
    (pytester.path / "expected.toml").write_text(write_expected)
    result = run(pytester, *PRIMES, "--yobx-expectations", "expected.toml")
    result.assert_outcomes(passed=6, xfailed=1)
    names = [line.split()[0] for line in result.stdout.lines if line.startswith("test_it[")]
    assert len(names) == len(set(names)) == 6
    assert any("::d" in name for name in names)
