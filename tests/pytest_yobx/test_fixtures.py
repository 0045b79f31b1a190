from __future__ import annotations

import re

import pytest

from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("arguments", [(), ("--yobx",), ("-p", "no:xdist"), ("-n", "1")])
def test_assert_converts_works_with_and_without_the_flag(pytester, arguments):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import numpy as np
        from fake_framework import Model, X

        def test_good(assert_converts):
            result = assert_converts(Model(), (X,))
            assert result.report.passed
            assert result.model.graph.output[0].name == "y"
            assert result.outputs["y"].shape == result.expected["y"].shape
            assert result.session.get_inputs()[0].name == "x"

        def test_generated_inputs(assert_converts):
            assert_converts(Model())

        def test_wrong(assert_converts):
            assert_converts(Model("values"), (X,))
        """
    )
    result = run(pytester, *arguments)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*VerificationError: yobx: VALUES differ*"])


def test_options_reach_the_conversion_by_the_same_name(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        def test_argument(assert_converts):
            model = Model()
            result = assert_converts(model, (X,), target_opset=18, input_names=["x"], seed=9)
            assert model.options == {"target_opset": 18, "input_names": ["x"]}
            assert (result.report.opset, result.report.seed) == (18, 9)

        @pytest.mark.yobx(target_opset=19, seed=4)
        def test_marker(assert_converts):
            assert assert_converts(Model(), (X,)).report.opset == 19
            assert assert_converts(Model(), (X,), target_opset=20).report.seed == 4

        def test_flag(assert_converts):
            assert assert_converts(Model(), (X,)).report.seed == 7
        """
    )
    run(pytester, "--yobx-seed", "7").assert_outcomes(passed=3)


def test_unknown_arguments_list_the_valid_ones(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        from fake_framework import Model, X
        def test_own(assert_converts): assert_converts(Model(), (X,), dynamic_shape={})
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*dynamic_shape. Did you mean dynamic_shapes? Valid: kwargs, *"])


def test_shapes_alone(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        from fake_framework import Model, X
        def test_good(assert_shapes):
            assert assert_shapes(Model().onnx()).report.shapes.checked == 2
        def test_wrong(assert_shapes): assert_shapes(Model("shapes").onnx())
        def test_values_do_not_matter(assert_shapes): assert_shapes(Model("values"), (X,))
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(['*value %y (Tanh #1 "gate"): declared ?S, B? but run time ?*'])


def test_convert_alone(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        from fake_framework import Model, X
        def test_good(yobx_convert):
            assert yobx_convert(Model("values"), (X,)).graph.node[0].op_type == "MatMul"
        def test_wrong(yobx_convert): yobx_convert(Model("convert"), (X,))
        """
    )
    run(pytester).assert_outcomes(passed=1, failed=1)


def test_one_test_for_each_case(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        from fake_framework import Model, X
        def test_own(assert_converts, yobx_case):
            result = assert_converts(Model(), (X,))
            assert [b.label for b in result.report.bindings] == [yobx_case.binding]
        """
    )
    result = run(pytester, "-v", "--yobx-bindings", "primes,ones")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_own?primes?*", "*test_own?ones?*"])


def test_settings_can_be_changed_in_conftest(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.fixture(scope="session")
        def yobx_settings(yobx_settings): return yobx_settings.updated(seed=42)

        def test_own(assert_converts):
            assert assert_converts(Model(), (X,)).report.seed == 42

        def test_unknown(yobx_settings): yobx_settings.updated(sede=1)
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*unknown yobx setting: sede. Did you mean seed?*"])


def test_a_folder_of_ones_own(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        def test_own(yobx_artifacts):
            (yobx_artifacts / "mine.txt").write_text("here")
        """
    )
    run(pytester).assert_outcomes(passed=1)
    assert len(list(pytester.path.glob(".yobx/*/mine.txt"))) == 1


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        (("--yobx-seed", "many"), "*--yobx-seed takes LIST*Received: 'many'*"),
        (("--yobx-target-opset", "x"), "*--yobx-target-opset takes LIST*"),
        (("--yobx-report", "pdf"), "*html, json or none is expected*"),
        (("--yobx-sead", "1"), "*unknown flag: --yobx-sead. Did you mean --yobx-seed? Valid:*"),
    ],
)
def test_wrong_flags_are_usage_errors(pytester, flag, words):
    write_repository(pytester, ["good"])
    result = run(pytester, "--yobx", *flag)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


def test_an_unknown_provider_names_the_available_ones(pytester):
    write_repository(pytester, ["good"])
    result = run(pytester, "--yobx", "--yobx-provider", "Abacus", "--yobx-bindings", "primes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'Abacus'*It has: *CPUExecutionProvider*"])


def test_ini_values(pytester):
    write_repository(pytester, ["good"], ini='yobx_bindings = "primes"\nyobx_seed = "3"')
    result = run(pytester, "--yobx", "-v")
    result.assert_outcomes(passed=1)
    # A flag wins over the file.
    run(pytester, "--yobx", "--yobx-bindings", "ones,primes").assert_outcomes(passed=2)


def test_a_failure_shows_the_line_of_the_user_and_nothing_of_ours(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, Source, X

        class Raising(Source):
            def run(self, args, keywords=None):
                raise RuntimeError("the source is broken")

        def own(assert_converts):
            assert_converts(Model("values"), (X,))

        def test_wrong(assert_converts):
            own(assert_converts)

        def test_raising(assert_converts, monkeypatch):
            import fake_framework
            monkeypatch.setattr(fake_framework.Source, "run", Raising.run)
            assert_converts(Model(), (X,))

        @pytest.mark.parametrize("option", [
            {"sead": 3}, {"precision": "float99"}, {"tolerances": "none.toml"}, {"bindings": [3]},
            {"bindings": 3}, {"target_opset": [18, 21]}, {"tolerance_scale": -1},
        ])
        def test_option(assert_converts, option):
            assert_converts(Model(), (X,), **option)

        def test_conversion(yobx_convert):
            yobx_convert(Model("convert"), (X,))

        def test_shapes(assert_shapes):
            assert_shapes(Model("shapes"), (X,), bindings=["ones"])
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=11)
    text = str(result.stdout)
    places = set(re.findall(r"^(\S+):\d+: ", text, re.MULTILINE))
    assert places == {"test_own.py"}
    assert "pytest_yobx/" not in text
    assert "yobx/verification/" not in text.replace("yobx/verification/tolerances.toml", "")
    assert "direct cause of" not in text
    assert "During handling of" not in text
    assert text.count("own(assert_converts)") == 2  # the call and the definition
    result.stdout.fnmatch_lines(
        [
            "*yobx: unknown option of this call: sead. Did you mean seed?*",
            "*a tolerance file can be read. Received: tolerances='none.toml': No such file*",
            "*bindings is a list of names of choices and of dicts*Received: bindings=[[]3[]]*",
        ]
    )
