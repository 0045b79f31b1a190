from __future__ import annotations

import datetime
import json

import pytest

from pytest_yobx.expectations import load
from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]

TODAY = datetime.date(2026, 11, 30)
ENTRY = '[[expect]]\ncase = "zoo:wrong*"\nphase = "values"\nreason = "weights are off"\n'
FLAGS = ("--yobx", "--yobx-bindings", "primes", "--yobx-expectations", "expected.toml")


def write(path, *entries, head="schema = 1\n\n"):
    (path / "expected.toml").write_text(head + "\n".join(entries), encoding="utf-8")


def book(tmp_path, *entries, **rest):
    write(tmp_path, *entries, **rest)
    return load(["expected.toml"], tmp_path, TODAY)


# ---- the file ------------------------------------------------------------------------------------


def test_only_stars_are_special(tmp_path):
    (entry,) = book(tmp_path, ENTRY.replace("zoo:wrong*", "zoo:a?[f32-*]")).entries
    assert entry.matches("zoo:a?[f32-primes]", "")
    assert entry.matches("", "zoo:a?[f32-]")
    assert not entry.matches("zoo:ab[f32-primes]", "")
    assert not entry.matches("my zoo:a?[f32-primes]", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ENTRY + 'sevrity = "low"\n', "3: unknown: sevrity; valid: case, "),
        (ENTRY.replace("reason", "issue"), "3: reason is missing"),
        (ENTRY.replace('"weights are off"', "3"), "3: reason must be a text"),
        (ENTRY.replace('"values"', '"numbers"'), "3: phase is one of import, "),
        (ENTRY + 'kind = "xpass"\n', "3: kind is one of xfail, flaky, skip, tolerance"),
        (ENTRY + 'kind = "skip"\n', "3: only a crash is skipped"),
        (ENTRY + "scale = 2\n", "3: scale belongs to"),
        (ENTRY + 'kind = "tolerance"\nscale = -1\n', "3: scale is a positive number"),
        (ENTRY + 'until = "soon"\n', "3: until is a day"),
        (ENTRY + 'scope = { onnxruntime = "new" }\n', "3: scope.onnxruntime is a version"),
        (ENTRY + ENTRY, "7: 'zoo:wrong*' is listed at expected.toml:3 already"),
        (ENTRY + 'until = "2026-11-29"\n', "3: the entry for 'zoo:wrong*' expired on 2026-11-29"),
        ("[[expect]\n", "3: is not TOML"),
        ("[other]\n", "1: unknown: other"),
        ("expect = [{}]\n", "1: each entry begins with a line [[expect]]"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(tmp_path, text, words):
    found = book(tmp_path, text)
    (problem,) = [*found.broken, *found.problems]
    assert problem.startswith(f"expected.toml:{words}")


def test_a_file_of_another_schema_or_none(tmp_path):
    assert book(tmp_path, head="schema = 2\n").broken == [
        "expected.toml:1: schema = 1 is expected, not 2"
    ]
    (problem,) = load(["absent.toml"], tmp_path, TODAY).broken
    assert problem == "absent.toml: cannot be read: No such file or directory"


def test_the_last_day_counts(tmp_path):
    assert book(tmp_path, ENTRY + "until = 2026-11-30\n").problems == []


@pytest.mark.parametrize(
    ("scope", "applies"),
    [
        ('onnx = ">=1.0"', True),
        ('onnx = "<1.0"', False),
        ('nosuchpackage = ">=0"', False),
        ('provider = "cpu", opset = ">=18,<22", precision = "float32"', True),
        ('provider = "cuda"', False),
        ('opset = "18"', False),
        ('opset = "*"', True),
        ('precision = "bfloat16"', False),
    ],
)
def test_scopes(tmp_path, scope, applies):
    facts = {"provider": "CPUExecutionProvider", "opset": 21, "precision": "float32"}
    found = book(tmp_path, f"{ENTRY}scope = {{ {scope} }}\n")
    assert (found.find("zoo:wrong[primes]", "", facts) is not None) is applies
    assert found.unmatched() == []


# ---- in a run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("-n", "1"), ("--yobx-isolate", "on")])
def test_an_expected_failure_is_one(pytester, arguments):
    write_repository(pytester, ["good", "wrong"])
    write(pytester.path, ENTRY + 'issue = "https://example.org/1"\n')
    result = run(pytester, *FLAGS, "-rx", *arguments)
    result.assert_outcomes(passed=2, xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "zoo:wrong?primes? *xfailed: values",
            "*expected.toml:3: weights are off (https://example.org/1)*",
        ]
    )


@pytest.mark.parametrize("arguments", [(), ("-n", "1")])
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("good", "*expected.toml:3: 'values' was expected to fail, but the check passes: remove*"),
        ("convert", "*expected.toml:3: 'values' was expected to fail, 'convert' failed: change*"),
    ],
)
def test_another_outcome_is_a_failure_with_the_line(pytester, model, words, arguments):
    write_repository(pytester, [model])
    write(pytester.path, ENTRY.replace("wrong", model))
    result = run(pytester, *FLAGS, *arguments)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([words])
    data = json.loads((pytester.path / ".yobx" / "report.json").read_text())
    assert data["totals"] == {"failed": 1}


def test_entries_that_name_nothing_fail(pytester):
    write_repository(pytester, ["good"])
    other = ENTRY.replace("zoo:wrong*", "zoo:gone[primes]")
    write(pytester.path, ENTRY.replace("zoo:wrong*", "zoo:go[o]d*"), other)
    result = run(pytester, *FLAGS)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "expected.toml:3: no check is called 'zoo:go?o?d?'*",
            "expected.toml:8: no check is called 'zoo:gone?primes?'; remove the entry*",
        ]
    )
    # A part of the repository says nothing about the rest.
    pytester.makepyfile(
        test_own="""
        from fake_framework import Model, X
        def test_own(assert_converts): assert_converts(Model(), (X,))
        """
    )
    run(pytester, *FLAGS, "test_own.py").assert_outcomes(passed=2)


@pytest.mark.parametrize("arguments", [("--yobx",), (), ("--yobx", "-n", "1"), ("-k", "good")])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[expect", "expected.toml:3: is not TOML: *"),
        (ENTRY + ENTRY.replace("phase", "fase"), "expected.toml:7: unknown: fase; valid: *"),
        (None, "expected.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_before_any_check(pytester, text, words, arguments):
    write_repository(pytester, ["good"])
    if text is not None:
        write(pytester.path, text)
    result = run(pytester, "--yobx-expectations", "expected.toml", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: yobx: {words}"])
    result.stdout.no_fnmatch_line("* passed*")
    report = pytester.path / ".yobx" / "report.json"
    assert report.exists() == ("--yobx" in arguments)
    if report.exists():
        data = json.loads(report.read_text())
        assert data["executed"] == 0
        assert any("the expectations are not in order" in reason for reason in data["red"])


def test_everything_that_cannot_be_read_is_told_at_once(pytester):
    write_repository(pytester, ["good"])
    write(pytester.path, ENTRY.replace("phase", "fase"), ENTRY + 'kind = "xpass"\n')
    result = run(pytester, *FLAGS)
    result.stderr.fnmatch_lines(["*expected.toml:3: unknown: fase*", "*expected.toml:8: kind is*"])


def test_an_entry_that_has_expired_is_a_failure_and_in_the_report(pytester):
    write_repository(pytester, ["good", "wrong"])
    write(pytester.path, ENTRY + 'until = "2020-01-01"\n')
    result = run(pytester, *FLAGS, "-k", "good")
    result.assert_outcomes(passed=1, failed=1, deselected=1)
    words = "the entry for 'zoo:wrong?' expired on 2020-01-01: weights are off"
    result.stdout.fnmatch_lines([f"the expectations are not in order: expected.toml:3: {words}*"])
    told = json.loads((pytester.path / ".yobx" / "report.json").read_text(encoding="utf-8"))
    assert len(told["red"]) == 1
    assert told["red"][0].startswith("the expectations are not in order: expected.toml:3:")


def test_marked_functions_and_fixtures_are_expected_to_fail_too(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx(bindings="primes")
        def test_marked(): return Model("values"), (X,)

        def test_fixture(assert_converts): assert_converts(Model("values"), (X,))

        def test_other(assert_converts):
            assert_converts(Model(), (X,))
            raise RuntimeError("something else")
        """
    )
    names = ("test_own.py::test_marked*", "test_fixture", "test_other")
    write(pytester.path, *(ENTRY.replace("zoo:wrong*", name) for name in names))
    result = run(pytester, *FLAGS)
    result.assert_outcomes(passed=1, xfailed=2, failed=1)
    result.stdout.fnmatch_lines(["*RuntimeError: something else*"])


def test_flaky_checks_may_pass_and_tolerances_may_be_wider(pytester):
    write_repository(pytester, ["good", "wrong"])
    wide = '[[expect]]\ncase = "zoo:wrong*"\nkind = "tolerance"\nscale = 1e4\nreason = "known"\n'
    write(pytester.path, ENTRY.replace("wrong", "good") + 'kind = "flaky"\n', wide)
    run(pytester, *FLAGS).assert_outcomes(passed=3)


def test_a_crash_is_skipped_and_shown(pytester):
    write_repository(pytester, ["crash", "good"])
    crash = ENTRY.replace("wrong", "crash").replace("values", "crash") + 'kind = "skip"\n'
    write(pytester.path, crash)
    result = run(pytester, *FLAGS)
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["zoo:crash?primes? *skipped"])


def test_entries_are_rewritten_and_the_change_is_shown(pytester):
    write_repository(pytester, ["good", "wrong", "convert"])
    models = ("good", "wrong", "convert", "gone")
    write(pytester.path, *(f"# {m}\n" + ENTRY.replace("wrong", m) for m in models))
    result = run(pytester, *FLAGS, "--yobx-update-expectations", "on")
    result.stdout.fnmatch_lines(['-phase = "values"', '+phase = "convert"'])
    text = (pytester.path / "expected.toml").read_text()
    assert [line for line in text.splitlines() if line.startswith("case")] == [
        'case = "zoo:wrong*"',
        'case = "zoo:convert*"',
    ]
    result = run(pytester, *FLAGS, "--yobx-update-expectations", "on")
    result.assert_outcomes(passed=2, xfailed=2)
    result.stdout.fnmatch_lines(["no entry of the expectations changes"])


def test_a_fault_of_yobx_is_not_what_was_expected(pytester):
    write_repository(pytester, ["wrong"])
    write(pytester.path, ENTRY)
    pytester.makeconftest(
        """
        import fake_framework
        import yobx.verification.run_comparison

        def broken(*args):
            return undefined

        fake_framework.install()
        yobx.verification.run_comparison.compare = broken
        """
    )
    result = run(pytester, *FLAGS)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["yobx: INTERNAL ERROR in the phase values*", "*NameError: name 'undefined' is not *"]
    )


def test_the_opset_of_a_failing_conversion_is_the_one_asked_for(pytester):
    write_repository(pytester, ["convert"])
    for scope, flags, expected in (
        ("<20", (), {"failed": 1}),
        (">=20", (), {"xfailed": 1}),
        ("<20", ("--yobx-target-opset", "18"), {"xfailed": 1}),
        (">=20", ("--yobx-target-opset", "18"), {"failed": 1}),
        ("<20", ("--yobx-target-opset", "18,21"), {"xfailed": 1, "failed": 1}),
    ):
        (pytester.path / "expected.toml").write_text(
            'schema = 1\n[[expect]]\ncase = "zoo:convert*"\nphase = "convert"\n'
            f'reason = "known"\nscope = {{ opset = "{scope}" }}\n'
        )
        run(pytester, *FLAGS, *flags).assert_outcomes(passed=1, **expected)
