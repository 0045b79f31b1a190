from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_yobx import options
from pytest_yobx.cases import _quoted
from tests.pytest_yobx.support import run, write_repository
from yobx.verification import CheckOptions
from yobx.verification.options import PRECISIONS, TOLERANCE_CLASSES

pytest_plugins = ["pytester"]

README = Path(options.__file__).with_name("README.md").read_text(encoding="utf-8")
WRITTEN = "<!-- options: written by pytest_yobx.options.table() -->\n"


def test_the_table_of_the_read_me_is_the_declaration():
    written = README.partition(WRITTEN)[2].partition("\n<!-- end of options -->")[0]
    assert written == options.table()


def test_settings_and_options_are_the_same_list():
    fields = list(options.Settings.__dataclass_fields__)
    assert [option.name for option in options.OPTIONS] == fields[:-2]
    for option in options.OPTIONS:
        assert (
            option.parse(option.text) == options.Settings.__dataclass_fields__[option.name].default
        )


def test_arguments_are_options_of_a_check_and_the_other_way_round():
    ours = {option.name for option in options.OPTIONS if option.is_argument}
    valid = set(CheckOptions.__dataclass_fields__)
    assert ours <= valid
    # What is left belongs to one model and has no flag: what it is, and how it is converted.
    assert {"reference", "name", "rerun"} <= valid - ours
    assert not {"seed", "provider", "bindings", "localize", "precision"} - ours


def test_choices_are_those_of_verification():
    assert options._PRECISIONS == PRECISIONS
    assert options._CLASSES == TOLERANCE_CLASSES


SEEN = """
import pytest
from fake_framework import Model, X

def check(assert_converts, **given):
    model = Model()
    report = assert_converts(model, (X,), **given).report
    return model.options, report

def test_outside(assert_converts, request):
    options, report = check(assert_converts)
    assert eval(request.config.getini("wanted"))

@pytest.mark.yobx(seed=11, dynamic_shapes={"x": {0: "M"}}, tolerance_class="measured")
def test_marker(assert_converts):
    options, report = check(assert_converts)
    assert report.seed == 11 and options["dynamic_shapes"] == {"x": {0: "M"}}
    assert "measured" in report.outputs[0].rule
    options, report = check(assert_converts, seed=12, tolerance_class="transcendental",
                            tolerance_scale=1000.0, dynamic_shapes={"x": {0: "F"}})
    assert report.seed == 12 and options["dynamic_shapes"] == {"x": {0: "F"}}
    assert report.outputs[0].rule == "8000 ULP (transcendental, as asked)"
"""


@pytest.mark.parametrize("form", ["flag", "ini"])
@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("seed", "7", "report.seed == 7"),
        ("target_opset", "18", "options['target_opset'] == 18 and report.opset == 18"),
        ("dynamic_shapes", "x:0=N,1=K", "options['dynamic_shapes'] == {'x': {0: 'N', 1: 'K'}}"),
        ("bindings", "B=3;B=4", "[b.sizes for b in report.bindings] == [{'B': 3}, {'B': 4}]"),
        ("precision", "float32", "report.precision == 'float32'"),
        ("tolerance_class", "measured", "'measured' in report.outputs[0].rule"),
        ("tolerance_scale", "2", "report.outputs[0].rule.startswith('20 ')"),
    ],
)
def test_each_form_of_a_setting(pytester, form, name, text, wanted):
    write_repository(pytester, [], ini=f'yobx_{name} = "{text}"' if form == "ini" else "")
    pytester.makepyfile(test_own=SEEN)
    pytester.makeconftest(
        "import fake_framework\nfake_framework.install()\n"
        f"def pytest_addoption(parser): parser.addini('wanted', '', default={wanted!r})\n"
    )
    flag = [f"--yobx-{name.replace('_', '-')}", text] if form == "flag" else []
    run(pytester, *flag).assert_outcomes(passed=2)


def test_several_seeds_and_precisions_are_several_tests(pytester):
    write_repository(pytester, ["good"])
    flags = ("--yobx-seed", "0,3", "--yobx-precision", "source,float32", "--yobx-bindings", "ones")
    result = run(pytester, "--yobx", "-v", *flags)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*good?seed0-ones?*", "*good?float32-seed3-ones?*"])


def test_the_rerun_command_finds_the_test_again(pytester):
    write_repository(pytester, ["wrong"])
    flags = ("--yobx-seed", "0,3", "--yobx-target-opset", "18", "--yobx-bindings", "B=7;B=9")
    result = run(pytester, "--yobx", *flags)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            ' rerun      pytest "pyproject.toml::zoo:wrong?opset18-seed0-B7?" --yobx '
            '--yobx-target-opset "18" --yobx-bindings "B=7;B=9" --yobx-seed 0,3',
            "yobx: values: as above, B=9 (in full: zoo:wrong?opset18-seed0-B7?)",
            "yobx: values: as above, B=9, seed 3 (in full: zoo:wrong?opset18-seed0-B7?)",
        ]
    )
    run(pytester, "pyproject.toml::zoo:wrong[opset18-seed3-B9]", "--yobx", *flags).assert_outcomes(
        failed=1
    )


def test_the_rerun_command_is_for_the_folder_that_pytest_was_started_in(pytester, monkeypatch):
    write_repository(pytester, ["wrong"])
    folder = pytester.path
    monkeypatch.chdir(folder.parent)
    flags = ("--yobx", "--yobx-bindings", "ones")
    result = run(pytester, folder.name, *flags)
    result.assert_outcomes(failed=1)
    name = f"{folder.name}/pyproject.toml::zoo:wrong"
    result.stdout.fnmatch_lines([f' rerun      pytest "{name}?ones?" --yobx *'])
    run(pytester, f"{name}[ones]", *flags).assert_outcomes(failed=1)


@pytest.mark.parametrize("flag", ["seed", "target-opset", "bindings", "precision"])
def test_what_is_given_twice_is_one_test(flag):
    option = next(o for o in options.OPTIONS if o.flag == f"--yobx-{flag}")
    one = {"seed": "3", "target-opset": "18", "bindings": "ones", "precision": "float32"}[flag]
    assert option.parse(f"{one}, {one}") == option.parse(one)


def test_the_rerun_command_is_one_word_of_a_shell():
    name = 'pyproject.toml::a/模型 [1] $HOME `id` "x" \\n.onnx[ones]'
    quoted = _quoted(name)
    assert "模型 [1]" in quoted
    said = subprocess.run(["sh", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert said.stdout.decode() == name


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ('"primes"', "*takes options by name only*"),
        (
            "sead=3",
            "*unknown option of the marker yobx of *: sead. Did you mean seed*",
        ),
        (
            "target_opset=99",
            "*target_opset=99 of the marker yobx of *test_marked*: opsets are integers from 18*",
        ),
        ("target_opset=[21, 17]", "*target_opset=?21, 17? of the marker*from 18 to*"),
        (
            'target_opset={"": 17, "com.microsoft": 1}',
            "*of the marker*from 18 to*",
        ),
        (
            'provider="CPU"',
            "*the marker yobx of *test_marked* asks for the provider 'CPU', which the installed *"
            "Did you mean CPUExecutionProvider? It has: *",
        ),
    ],
)
def test_wrong_arguments_of_a_marker_are_usage_errors(pytester, mark, words):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own=f"""
        import pytest, zoo
        @pytest.mark.yobx({mark})
        def test_marked():
            return zoo.good()
        """
    )
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


@pytest.mark.parametrize(
    ("flags", "ini", "words"),
    [
        (
            ["--yobx-opset", "18"],
            "",
            "*unknown flag: --yobx-opset. Did you mean --yobx-target-opset?*",
        ),
        (["--yobx-sead", "1"], "", "*unknown flag: --yobx-sead. Did you mean --yobx-seed? Valid:*"),
        ([], 'yobx_sead = "1"', "*unknown ini value: yobx_sead. Did you mean yobx_seed? Valid:*"),
        (["--yobx-seed", "-1"], "", "*--yobx-seed takes LIST*0 or more*"),
        (["--yobx-precision", "half"], "", "*--yobx-precision takes LIST*float16*"),
        (["--yobx-dynamic-shapes", "x=B"], "", "*INPUT:AXIS=SYMBOL is expected*"),
        (["--yobx-tolerance-class", "loose"], "", "*exact, rounded, transcendental or measured*"),
        (["--yobx-shard", "5/4"], "", "*i/n with 1 <= i <= n is expected*"),
        (["--yobx-min-cells", "many"], "", "*--yobx-min-cells takes N*"),
        (["--yobx-isolate", "perhaps"], "", "*on or off is expected*"),
        (
            ["--yobx-target-opset", "-3"],
            "",
            "*opsets are integers from 18 to *, the newest that the*",
        ),
        (
            ["--yobx-provider", "CUDAExecutionProvidr"],
            "",
            "*--yobx-provider asks for the provider 'CUDAExecutionProvidr', which*It has: *",
        ),
        (
            [],
            'yobx_provider = "cpu"',
            "*ini value yobx_provider asks for *'cpu'*Did you mean CPUExecutionProvider?*",
        ),
        ([], 'yobx_target_opset = "17"', "*opsets are integers from 18 to *, the newest that the*"),
        (["--yobx-bindings", "primes,oens"], "", "*ones, zeros or sample is expected*"),
        (["--yobx-bindings", "B=-1"], "", "*sizes are integers, 0 or more*"),
        (["--yobx-bindings", ","], "", "*at least one is expected*"),
        (["--yobx-tolerance-scale", "nan"], "", "*a positive number is expected*"),
        (["--yobx-tolerances", "absent.toml"], "", "*there is no file *absent.toml"),
    ],
)
def test_wrong_settings_are_usage_errors(pytester, flags, ini, words):
    write_repository(pytester, ["good"], ini=ini)
    result = run(pytester, "--yobx", *flags)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


def test_a_factory_and_a_call_with_a_wrong_opset_or_provider_fail_before_a_conversion(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        more="""
        from fake_framework import Model, X
        def opset(): return Model("trace"), (X,), {"target_opset": 99}
        """,
        test_own="""
        from fake_framework import Model, X
        def test_call(assert_converts): assert_converts(Model("trace"), (X,), provider="TPU")
        """,
    )
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["more:opset"]\n')
    result = run(pytester, "--yobx", "--yobx-bindings", "ones")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "yobx: target_opset=99 of more:opset: opsets are integers from 18 to *",
            "*yobx: this call asks for the provider 'TPU', which the installed onnxruntime does *",
        ]
    )


def test_a_provider_of_other_machines_is_not_looked_for_here(pytester):
    """The process that distributes checks needs no onnxruntime of its own."""
    write_repository(pytester, ["good"])
    flags = ("--yobx", "--yobx-provider", "TPU", "--collect-only", "--dist", "no")
    assert run(pytester, *flags, "--tx", "ssh=host").ret == 0
    assert run(pytester, *flags, "--tx", "popen").ret == pytest.ExitCode.USAGE_ERROR


def test_no_onnxruntime_is_loaded_to_know_the_provider_of_processors(pytester):
    write_repository(pytester, ["good"])
    pytester.makeconftest(
        "import sys\ndef pytest_sessionstart(): assert 'onnxruntime' not in sys.modules"
    )
    run(pytester, "--yobx", "--collect-only").stdout.fnmatch_lines(["*3 tests collected*"])


def test_several_values_are_never_one_check_in_silence(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        more="""
        from fake_framework import Model, X
        def opsets(): return Model(), (X,), {"target_opset": [18, 21]}
        """,
        test_own="""
        import pytest
        from fake_framework import Model, X
        def test_call(assert_converts): assert_converts(Model(), (X,), seed=[1, 2])
        @pytest.mark.yobx(target_opset=[18, 21])
        def test_marker(assert_converts): assert_converts(Model(), (X,))
        @pytest.mark.yobx(target_opset=[18, 21], bindings="primes")
        def test_cases(assert_converts, yobx_case): assert_converts(Model(), (X,))
        """,
    )
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["more:opsets"]\n')
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.assert_outcomes(failed=2, passed=3)
    result.stdout.fnmatch_lines(
        [
            "yobx: more:opsets is one check, of one target_opset. Received: ?18, 21?. Ask for *",
            "*UsageError: yobx: this call is one check, of one seed. Received: ?1, 2?.*",
            "warning: test_marker: checked with target_opset=18 alone of 18, 21: a test that asks*",
        ]
    )


def test_the_rerun_command_repeats_what_decides_a_result(pytester):
    write_repository(pytester, ["wrong"])
    table = Path(options.__file__).parent.parent / "yobx" / "verification" / "tolerances.toml"
    (pytester.path / "own.toml").write_text(table.read_text(encoding="utf-8"), encoding="utf-8")
    flags = ("--yobx-tolerance-scale", "0.5", "--yobx-tolerances=own.toml")
    result = run(pytester, "--yobx", "--yobx-bindings", "ones", *flags, "--yobx-report", "json")
    result.stdout.fnmatch_lines(
        [
            ' rerun      pytest "pyproject.toml::zoo:wrong?ones?" --yobx '
            '--yobx-tolerance-scale "0.5" --yobx-tolerances="own.toml" --yobx-seed 0'
        ]
    )


@pytest.mark.parametrize("flag", ["artifacts", "baseline"])
def test_a_value_that_pytest_takes_for_a_place_of_tests_is_refused(pytester, tmp_path, flag):
    """pytest would read the settings above both, and find no models."""
    write_repository(pytester, ["good"])
    outside = tmp_path / "results"
    outside.mkdir()
    assert pytester.path not in outside.parents
    result = run(pytester, "--yobx", f"--yobx-{flag}", str(outside))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*pyproject.toml. Write --yobx-{flag}={outside}"])
    if flag == "artifacts":
        run(pytester, "--yobx", f"--yobx-{flag}={outside}").assert_outcomes(passed=3)


def test_a_value_inside_of_the_repository_may_stand_after_a_blank(pytester):
    write_repository(pytester, ["good"])
    (pytester.path / "results").mkdir()
    run(pytester, "--yobx", "--yobx-artifacts", "results").assert_outcomes(passed=3)
