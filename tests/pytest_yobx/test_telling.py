"""How pytest itself tells of failing checks."""

from __future__ import annotations

import pytest

from pytest_yobx.telling import brief
from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]

OWN = """
import pytest
from fake_framework import Model, X

@pytest.mark.parametrize("name", ["one", "two"])
def test_own(assert_converts, yobx_case, name): assert_converts(Model("values", name=name), (X,))
"""


def summary(result):
    lines = result.stdout.lines
    start = next(i for i, line in enumerate(lines) if "short test summary info" in line)
    return lines[start + 1 : -1]


@pytest.fixture
def narrow(pytester):
    """A terminal of 80 columns that is nobody's build."""
    pytester._monkeypatch.setenv("COLUMNS", "80")
    for name in ("CI", "BUILD_NUMBER"):
        pytester._monkeypatch.delenv(name, raising=False)


def test_a_failure_is_told_in_full_once(pytester):
    write_repository(pytester, ["wrong", "shapes"])
    result = run(pytester, "--yobx")
    result.assert_outcomes(failed=6)
    text = result.stdout.str()
    assert text.count("VALUES differ") == 1
    assert text.count("shape inference finds a contradiction") == 1
    for name, phase in (("wrong", "values"), ("shapes", "shapes")):
        assert f"yobx: {phase}: as above, B=7 (in full: zoo:{name}[primes])" in result.stdout.lines
        assert f"yobx: {phase}: as above, B=1 (in full: zoo:{name}[primes])" in result.stdout.lines


def test_other_models_and_other_failures_are_told_in_full(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(test_own=OWN)
    result = run(pytester, "--yobx")
    result.assert_outcomes(failed=6)
    text = result.stdout.str()
    assert text.count("VALUES differ") == 2
    assert text.count("as above") == 4
    assert "yobx: values: as above, B=1 (in full: test_own[primes-two])" in result.stdout.lines


def test_what_was_expected_was_not_told(pytester):
    write_repository(pytester, ["wrong"])
    (pytester.path / "known.toml").write_text(
        "schema = 1\n[[expect]]\ncase = 'zoo:wrong[primes]'\nphase = 'values'\nreason = 'x'\n"
    )
    result = run(pytester, "--yobx", "--yobx-expectations", "known.toml")
    result.assert_outcomes(failed=2, passed=1, xfailed=1)
    assert result.stdout.str().count("VALUES differ") == 1
    assert "yobx: values: as above, B=1 (in full: zoo:wrong[primes2])" in result.stdout.lines


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"wrong": 3}, "3 of 8 elements"),
        ({"wrong": 0}, "systematically off"),
        ({"wrong": 0, "category": "undecided"}, "undecided"),
        ({"wrong": 0, "category": "random"}, "random"),
        ({"wrong": 2, "category": "nan"}, "2 of 8 elements"),
    ],
)
def test_what_is_said_of_an_output_without_a_place(facts, said):
    output = {"name": "y", "outcome": "failed", "category": "values", "elements": 8, **facts}
    report = {"failed_phase": "values", "model_name": "net", "localization": None}
    assert brief({**report, "outputs": [output]}) == f"values: output y, {said}; model net"


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_the_short_summary_begins_with_what_decides(pytester, narrow, workers):
    write_repository(pytester, ["wrong", "shapes", "convert"])
    pytester.makepyfile(test_own=OWN)
    result = run(pytester, "--yobx", "--yobx-bindings", "ones,primes", *workers)
    assert [line for line in summary(result) if "own" not in line] == [
        "FAILED pyproject.toml::zoo:wrong[ones] - values: %h MatMul ← FakeOp, net/dens...",
        "FAILED pyproject.toml::zoo:wrong[primes] - values: %h MatMul ← FakeOp, net/de...",
        "FAILED pyproject.toml::zoo:shapes[ones] - shapes: %y declared [S, B], runs as...",
        "FAILED pyproject.toml::zoo:shapes[primes] - shapes: %y declared [S, B], runs ...",
        "FAILED pyproject.toml::zoo:convert[ones] - convert: no converter for FakeOp <...",
    ]
    own = [line for line in summary(result) if "own" in line]
    assert (
        own[0] == "FAILED test_own.py::test_own[ones-one] - values: %h MatMul ← FakeOp, net/dens..."
    )


def test_each_failure_has_a_line_after_the_table(pytester):
    write_repository(pytester, ["wrong", "shapes"])
    pytester.makepyfile(
        more="""
        def raising():
            from yobx.errors import TraceError
            raise TraceError("A model must run. Received: net, which raised KeyError: no 'w'.")
        """
    )
    pytester.makepyprojecttoml(
        '[tool.pytest.ini_options]\nyobx_models = ["zoo:wrong", "zoo:shapes", "more:raising"]\n'
    )
    result = run(pytester, "--yobx")
    lines = result.stdout.lines
    assert {
        "values: %h MatMul ← FakeOp, net/dense; model zoo:wrong: zoo:wrong[ones] and 2 more",
        "shapes: %y declared [S, B], runs as [1, 3]; model zoo:shapes: zoo:shapes[ones] and 2 more",
    } <= set(lines)
    assert any(line.startswith("import: KeyError: no 'w'.") for line in lines)


def test_the_line_of_a_failure_names_what_was_received_and_the_rule(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        from fake_framework import Model, X

        def test_binding(assert_converts):
            assert_converts(Model(), (X,), bindings=["prim"])

        def test_path(assert_converts):
            assert_converts("none.onnx")
        """
    )
    result = run(pytester, "--yobx")
    lines = [line for line in result.stdout.lines if line.startswith(("run: ", "import: "))]
    assert lines == [
        "run: 'prim' — a binding is one of primes, primes2, ones, zeros, sample, or a dict symbol "
        "-> size; model fake: test_binding",
        "import: model='none.onnx' — no such file; model none.onnx: test_path",
    ]


def test_the_head_of_a_run_explains_the_words_of_its_table(pytester):
    write_repository(pytester, [])
    words = "yobx: sizes of a run (primes: every symbol another prime, ones: 1 everywhere); "
    result = run(pytester, "--yobx", "--yobx-bindings", "primes,ones", "--collect-only")
    assert any(line.startswith(words) for line in result.stdout.lines)
    assert "yobx: sizes" not in str(run(pytester, "--collect-only").stdout)


def test_the_line_of_a_model_that_cannot_be_loaded_begins_with_its_phase(pytester):
    write_repository(pytester, ["nothing", "raising", "gone"])
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    short = [line for line in result.stdout.lines if line.startswith("FAILED ")]
    starts = ["import: nothing (None) from", "import: OSError: no", "import: yobx_models entry"]
    assert [any(start in line for line in short) for start in starts] == [True] * 3


def test_names_that_are_cut_keep_their_end(pytester):
    write_repository(pytester, [])
    name = "a_function_of_a_name_that_is_too_long_for_the_table_at_the_end_of_a_run"
    pytester.makepyfile(
        test_own=f"""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.parametrize("case", ["one", "two"])
        def test_{name}(assert_converts, case):
            assert_converts(Model(), (X,))
        """
    )
    lines = run(pytester, "--yobx").stdout.lines
    cut = [line.split()[0] for line in lines if "…" in line and line.startswith("test_a_fun")]
    assert [line[-6:] for line in cut] == ["n[one]", "n[two]"]
    assert {len(line) for line in cut} == {60}
