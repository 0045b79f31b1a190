"""The marker on a function, a class, a module, and on what cannot return a model."""

from __future__ import annotations

import json

import pytest

from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]

ONE = ("--yobx", "--yobx-bindings", "primes")


def rows(pytester):
    report = json.loads((pytester.path / ".yobx" / "report.json").read_text())
    return {row["nodeid"].partition("::")[2]: row["outcome"] for row in report["results"]}


@pytest.fixture(autouse=True)
def repository(pytester):
    write_repository(pytester, [])


def test_on_a_class_it_holds_for_every_test_inside(pytester):
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx(bindings="primes", seed=5)
        class TestModels:
            def helper(self): return Model("values")
            def test_right(self): return Model(), (X,)
            def test_wrong(self): return Model("values"), (X,)
            def test_ordinary(self):
                def inside(): return 1
                assert inside()
            def test_early(self):
                if X is not None: return
                return None
            @pytest.mark.yobx(seed=7)
            @pytest.mark.parametrize("shape", [("B", 4), ("N", 4)])
            def test_more(self, shape): return Model(shape=shape), (X,)
            def test_fixture(self, assert_converts):
                assert assert_converts(Model(), (X,)).report.seed == 5
        """
    )
    for arguments, also in (((), ()), (("--yobx",), ("helper",))):
        result = run(pytester, *arguments)
        result.assert_outcomes(passed=6, failed=1)
        assert not any(name in result.stdout.str() for name in also)
    assert rows(pytester) == {
        "TestModels::test_right[primes]": "passed",
        "TestModels::test_wrong[primes]": "failed",
        "TestModels::test_more[primes-shape0]": "passed",
        "TestModels::test_more[primes-shape1]": "passed",
        "TestModels::test_fixture": "passed",
    }


def test_on_a_module_it_holds_for_every_test_inside(pytester):
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        pytestmark = [pytest.mark.yobx(bindings=["primes", "ones"])]

        def test_wrong(): return Model("values"), (X,)
        def test_ordinary(): pass
        def build(): return Model()
        @pytest.mark.yobx
        def gate(): return build(), (X,)
        class TestInside:
            def test_right(self): return Model(), (X,)
        """
    )
    result = run(pytester, "--yobx", "-v")
    result.assert_outcomes(passed=5, failed=2)
    assert len(rows(pytester)) == 6


def test_tests_that_return_nothing_make_no_check(pytester):
    pytester.makepyfile(
        test_own="""
        import pytest
        pytestmark = pytest.mark.yobx(seed=1)
        def test_ordinary(): pass
        """
    )
    result = run(pytester, *ONE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*nothing was checked*"])


def test_a_marked_function_that_returns_nothing_fails(pytester):
    pytester.makepyfile(
        test_own="""
        import pytest
        @pytest.mark.yobx
        def test_nothing(): pass
        """
    )
    result = run(pytester, *ONE)
    result.assert_outcomes(failed=1)
    assert rows(pytester) == {"test_nothing[primes]": "failed"}


def test_a_fixture_behind_a_fixture_keeps_its_meaning(pytester):
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.fixture
        def converts(assert_converts): return assert_converts

        @pytest.mark.yobx(seed=4, bindings="primes")
        def test_it(converts):
            assert converts(Model(), (X,)).report.seed == 4
        """
    )
    run(pytester, *ONE).assert_outcomes(passed=1)
    assert rows(pytester) == {"test_it": "passed"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "class TestOld(unittest.TestCase):\n"
            "    @pytest.mark.yobx\n"
            "    def test_it(self): return Model('values'), (X,)\n",
            "*test_own.py::TestOld::test_it is a method of unittest.TestCase*assert_converts*",
        ),
        (
            "@pytest.mark.yobx\n"
            "class TestOld(unittest.TestCase):\n"
            "    def test_it(self): return Model('values'), (X,)\n",
            "*test_own.py::TestOld::test_it is a method of unittest.TestCase*",
        ),
        (
            "@pytest.mark.yobx\nasync def test_it(): return Model('values'), (X,)\n",
            "*test_own.py::test_it* is async*",
        ),
    ],
)
def test_what_cannot_return_a_model_is_a_usage_error(pytester, body, words):
    head = "import unittest\nimport pytest\nfrom fake_framework import Model, X\n\n"
    pytester.makepyfile(test_own=head + body)
    for arguments in ((), ONE):
        result = run(pytester, *arguments)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([words])


def test_a_test_case_may_use_the_fixture_and_the_options(pytester):
    pytester.makepyfile(
        test_own="""
        import unittest
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx(seed=6, bindings="primes")
        class TestOld(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def given(self, assert_converts): self.check = assert_converts
            def test_right(self): assert self.check(Model(), (X,)).report.seed == 6
            def test_wrong(self): self.check(Model("values"), (X,))
        """
    )
    run(pytester, *ONE).assert_outcomes(passed=1, failed=1)
    assert rows(pytester) == {"TestOld::test_right": "passed", "TestOld::test_wrong": "failed"}


def test_a_failure_of_a_marked_function_is_its_text_alone(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx
        def test_nothing():
            pass

        @pytest.mark.yobx(precision=["f32"])
        def test_precision():
            return Model(), (X,)

        @pytest.mark.yobx(bindings=3)
        def test_binding():
            return Model(), (X,)

        @pytest.mark.yobx
        def test_values():
            return Model("values"), (X,)

        @pytest.mark.yobx
        def test_raising():
            raise OSError("no weights here")
        """
    )
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.assert_outcomes(failed=5)
    text = str(result.stdout)
    assert "hidden" not in text
    assert "pytest_yobx/" not in text
    assert "INTERNAL" not in text
    assert 'raise OSError("no weights here")' in text
    lines = result.stdout.lines
    short = {line.partition(" - ")[2][:16] for line in lines if line.startswith("FAILED ")}
    assert short == {
        "import: nothing ",
        "import: 'f32' — ",
        "run: 3 — a bindi",
        "values: %h MatMu",
        "import: OSError:",
    }
