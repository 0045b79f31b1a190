from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]


class Page(HTMLParser):
    """Reads a page: elements, ids, and anything that would reach for the network."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.outside = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "a":
            self.links.append(values["href"])
        for key in ("src", "href", "action"):
            target = values.get(key) or ""
            if target and not target.startswith(("#", "data:")):
                self.outside.append((tag, target))


def test_the_table_and_the_files(pytester):
    write_repository(pytester, ["good", "wrong", "convert"])
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "model *opset *sizes *nodes *max abs err *budget *shapes *time *result",
            "zoo:convert?primes? *failed: convert",
            "zoo:good?primes? *21 *B=5 *2 * 2/2 *passed",
            "zoo:wrong?primes? *failed: values",
            "3 checks: 2 failed, 1 passed",
            "json report  .yobx/report.json",
            "html report  .yobx/report.html",
        ]
    )
    data = json.loads((pytester.path / ".yobx" / "report.json").read_text())
    assert data["schema"] == 1
    assert data["totals"] == {"failed": 2, "passed": 1}
    assert [row["nodeid"].rpartition(":")[2] for row in data["results"]] == [
        "convert[primes]",
        "good[primes]",
        "wrong[primes]",
    ]
    assert {"onnx", "onnxruntime", "numpy", "python"} <= set(data["environment"])


def test_the_page_stands_alone_and_escapes_names(pytester):
    write_repository(pytester, ["good", "wrong", "convert"])
    run(pytester, "--yobx", "--yobx-bindings", "primes")
    text = (pytester.path / ".yobx" / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.outside == []
    assert page.tags.count("script") == 1
    assert "no converter for FakeOp &lt;b&gt;&amp;" in text
    assert "<b>" not in text
    assert {"result-0", "result-1", "result-2"} <= page.ids
    assert all(link[1:] in page.ids for link in page.links)
    assert "http:" not in text
    assert "https:" not in text


def test_no_reports_when_none_are_wanted(pytester):
    write_repository(pytester, ["good"])
    run(pytester, "--yobx", "--yobx-report", "none").assert_outcomes(passed=3)
    assert not (pytester.path / ".yobx").exists()


def test_junit_properties(pytester):
    write_repository(pytester, ["wrong"])
    run(pytester, "--yobx", "--yobx-bindings", "primes", "--junitxml", "junit.xml")
    text = (pytester.path / "junit.xml").read_text()
    assert '<property name="yobx_outcome" value="values"' in text


def test_reports_do_not_dirty_a_repository(pytester):
    write_repository(pytester, ["good"])
    run(pytester, "--yobx")
    assert (pytester.path / ".yobx" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_workers_give_the_same_report(pytester, workers):
    write_repository(pytester, ["good", "wrong"])
    run(pytester, "--yobx")
    path = pytester.path / ".yobx" / "report.json"

    def summary():
        data = json.loads(path.read_text())
        rows = data["results"]
        return [
            (r["nodeid"], r["outcome"], [o["max_abs"] for o in r["reports"][0]["outputs"]])
            for r in rows
        ]

    alone = summary()
    run(pytester, "--yobx", "-n", workers).assert_outcomes(passed=3, failed=3)
    assert summary() == alone


def test_a_dead_worker_is_a_crash_and_the_rest_is_kept(pytester):
    write_repository(pytester, ["good", "crash"])
    result = run(pytester, "--yobx", "-n", "1", "--yobx-bindings", "primes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    data = json.loads((pytester.path / ".yobx" / "report.json").read_text())
    outcomes = {row["nodeid"].rpartition(":")[2]: row["outcome"] for row in data["results"]}
    assert outcomes == {"good[primes]": "passed", "crash[primes]": "crash"}
    assert (pytester.path / ".yobx" / "report.html").exists()
    result.stdout.fnmatch_lines(["zoo:crash?primes? *crash"])
    result.stdout.fnmatch_lines(
        [
            "*_ zoo:crash?primes? _*",
            "yobx: CRASH — zoo:crash?primes?: the worker gw0 died while it ran this test",
            " hint       --yobx-isolate on, without -n, says how the process ended; *",
            ' rerun      pytest "pyproject.toml::zoo:crash?primes?" --yobx --yobx-isolate "on" *',
        ]
    )
    (told,) = [row["message"] for row in data["results"] if row["outcome"] == "crash"]
    assert " rerun      pytest " in told


def test_reports_of_tests_that_use_fixtures(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        from fake_framework import Model, X
        def test_two(assert_converts):
            assert_converts(Model(name="one"), (X,))
            assert_converts(Model("values", name="two"), (X,))
        """
    )
    run(pytester, "--yobx").assert_outcomes(failed=1)
    data = json.loads((pytester.path / ".yobx" / "report.json").read_text())
    names = [report["model_name"] for report in data["results"][0]["reports"]]
    assert names == ["one", "two"]


def test_expected_failures_are_told_apart(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X
        @pytest.mark.xfail(strict=True)
        def test_known(assert_converts): assert_converts(Model("values"), (X,))
        """
    )
    result = run(pytester, "--yobx")
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["1 check: 1 xfailed"])


def test_what_passing_checks_warn_of_is_told_once(pytester):
    write_repository(pytester, ["good", "alone"])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx(extra_converters={"FakeOpp": print})
        def test_gate(): return Model(), (X,)
        """
    )
    result = run(pytester, "--yobx")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "warning: test_gate?ones? and 2 more: extra_converters has 'FakeOpp', which was never "
            "called: no such operation; did you mean 'FakeOp'?",
        ]
    )
    assert result.stdout.str().count("warning:") == 1
