from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]


def test_one_item_for_each_model_and_binding(pytester):
    write_repository(pytester, ["good", "alone", "ready"])
    result = run(pytester, "--yobx", "-v")
    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines(
        ["*pyproject.toml::zoo:good?primes? PASSED*", "*pyproject.toml::zoo:ready?ones? PASSED*"]
    )


def test_opsets_multiply(pytester):
    write_repository(pytester, ["good"])
    result = run(
        pytester, "--yobx", "-v", "--yobx-target-opset", "18,21", "--yobx-bindings", "primes"
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*zoo:good?opset18-primes?*", "*zoo:good?opset21-primes?*"])


def test_a_repository_sees_nothing_without_the_flag(pytester):
    write_repository(pytester, ["good"])
    pytester.makepyfile(test_own="def test_own(): pass")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    assert "yobx" not in result.stdout.str().split("collected", 1)[1]
    assert not (pytester.path / ".yobx").exists()


def test_one_model_is_selected_by_its_id(pytester):
    write_repository(pytester, ["good", "wrong"])
    result = run(pytester, "--yobx", "pyproject.toml::zoo:good[primes2]")
    result.assert_outcomes(passed=1)
    result = run(pytester, "--yobx", "-k", "wrong and ones")
    result.assert_outcomes(failed=1, deselected=5)


def test_paths_limit_the_run_and_the_summary_says_so(pytester):
    write_repository(pytester, ["good"])
    pytester.makepyfile(
        test_own="""
        from zoo import good
        def test_own(assert_converts): assert_converts(*good())
        """
    )
    result = run(pytester, "--yobx", "test_own.py")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "yobx: the models of yobx_models are not collected, other paths were given: zoo:good. "
            "Add pyproject.toml to check them too",
            "1 entry of yobx_models not selected*",
        ]
    )
    both = run(pytester, "--yobx", "test_own.py", "pyproject.toml")
    both.assert_outcomes(passed=4)
    both.stdout.no_fnmatch_line("*not collected*")
    run(pytester, "--yobx", str(pytester.path)).assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "*zoo has no attribute 'absent', given as 'zoo:absent'."),
        ("absent", "hint: It has: good, alone, wrong, *"),
        ("godo", "hint: Did you mean 'good'?"),
        ("raising", "*no weights here*"),
        ("nothing", "*Received: nothing (None) from zoo:nothing*"),
        ("misspelled", "*unknown option of zoo:misspelled: sead. Did you mean seed? Valid:*"),
        ("", "yobx_models entry 'zoo:' names nothing. An entry has the form package.module:*"),
        ("weights/*.keras", "*'weights/?.keras' matches no .keras or .onnx file*"),
    ],
)
def test_an_entry_that_cannot_be_loaded_fails(pytester, name, words):
    write_repository(pytester, [name])
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([words])


def test_a_module_that_does_not_exist(pytester):
    write_repository(pytester, [])
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["zzoo:good"]\n')
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there is no module 'zzoo'*"])


@pytest.mark.parametrize("arguments", [(), ("-n", "1"), ("-p", "no:xdist")])
def test_nothing_checked_is_red(pytester, arguments):
    write_repository(pytester, [])
    pytester.makepyfile(test_own="def test_own(): pass")
    result = run(pytester, "--yobx", *arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["nothing was checked*This run is red.*"])


def test_nothing_at_all_is_red(pytester):
    write_repository(pytester, ["good"])
    result = run(pytester, "--yobx", "-k", "nosuchmodel")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["nothing was checked*"])


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(
    ("flags", "how"),
    [
        (["-k", "nothing"], "-k 'nothing'"),
        (["-m", "not yobx"], "-m 'not yobx'"),
        (["-k", "good", "--deselect", "pyproject.toml"], "-k 'good' --deselect 'pyproject.toml'"),
    ],
)
def test_a_selection_that_leaves_nothing_is_named(pytester, flags, how, workers):
    write_repository(pytester, ["good", "alone"])
    result = run(pytester, "--yobx", "--yobx-bindings", "ones", *flags, "-n", workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [f"nothing was checked: 2 checks collected, and all deselected by {how}. This run is red."]
    )


def test_marked_functions_return_models(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx(bindings=["primes", {"B": 3}], seed=5)
        def gate(): return Model(), (X,)

        @pytest.mark.yobx
        def test_wrong(): return Model("values"), (X,)
        """
    )
    result = run(pytester, "--yobx", "-v")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(["*test_own.py::gate?primes? PASSED*", "*::gate?B3? PASSED*"])
    # Without the flag a test is a test: it is checked, not ignored.
    result = run(pytester, "-v")
    result.assert_outcomes(failed=3)


def test_marked_functions_can_be_parametrised(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        from fake_framework import Model, X

        @pytest.mark.yobx(bindings="primes")
        @pytest.mark.parametrize("fault", ["", "values"])
        def test_gate(fault): return Model(fault), (X,)
        """
    )
    run(pytester, "--yobx").assert_outcomes(passed=1, failed=1)


def test_unknown_marker_arguments_are_a_usage_error(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(
        test_own="""
        import pytest
        @pytest.mark.yobx(opst=3)
        def test_gate(): pass
        """
    )
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unknown option of the marker yobx*: opst*Valid: *target_opset*"])


def test_a_model_is_converted_once_for_its_bindings(pytester):
    write_repository(pytester, ["ready"])
    pytester.makepyfile(
        test_zz="""
        from zoo import ready
        def test_count(): assert ready.conversions == 1
        """
    )
    run(pytester, "--yobx").assert_outcomes(passed=4)


def test_onnx_files_with_a_reference(pytester):
    write_repository(pytester, ["exported/*.onnx"])
    pytester.mkdir("exported")
    pytester.makepyfile(
        make="""
        import fake_framework, onnx
        onnx.save(fake_framework.Model().onnx(), "exported/gate.onnx")
        """
    )
    pytester.runpython("make.py")
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.stdout.fnmatch_lines(["*Write gate_reference.py beside it*"])
    (pytester.path / "exported" / "gate_reference.py").write_text(
        "import numpy as np\nfrom fake_framework import Model\n"
        "def reference(x): return np.tanh(x @ Model().w)\n"
    )
    run(pytester, "--yobx").assert_outcomes(passed=3)


def test_collecting_imports_no_model(pytester):
    write_repository(pytester, ["raising"])
    result = run(pytester, "--yobx", "--collect-only", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["pyproject.toml::zoo:raising?primes?"])


def test_the_failure_text(pytester):
    write_repository(pytester, ["wrong"])
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.stdout.fnmatch_lines(
        [
            "yobx: VALUES differ — model zoo:wrong (fake), opset 21, *seed 0",
            " outputs    1/1 wrong:  y WRONG",
            " y          float32 ?B=5, 3?   15/15 elements (100.0%)*got * want *",
            "            max abs * at *max rel * ULP p50 * allowed 10 measured deviations*",
            ' differs at %h  node MatMul #0 "dense" ← layer "net/dense" / fake op FakeOp',
            "            inputs: %x agrees, %w agrees",
            "            the inputs of that node still agree; the same nodes, computed in float64, "
            "agree with onnx*",
            "            reduced to 1 node that still fails",
            " shapes     2 of 2 values confirmed, under B=5",
            ' rerun      pytest "pyproject.toml::zoo:wrong?primes?" --yobx --yobx-seed 0',
            " artifacts  .yobx/*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_artifacts_repeat_the_failure_alone(pytester):
    write_repository(pytester, ["wrong"])
    run(pytester, "--yobx", "--yobx-bindings", "primes")
    (folder,) = (p for p in (pytester.path / ".yobx").iterdir() if p.is_dir())
    names = {path.name for path in folder.iterdir()}
    assert names >= {"model.onnx", "inputs.npz", "expected.npz", "actual.npz", "repro.py"}
    result = pytester.runpython(folder / "repro.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["y float32 (5, 3) max abs error *", "wrong outputs: 1"])
    report = json.loads((folder / "report.json").read_text())
    assert report["schema"] == 1
    assert report["failed_phase"] == "values"


def test_passing_checks_leave_no_artifacts_unless_asked(pytester):
    write_repository(pytester, ["good"])
    run(pytester, "--yobx")
    assert not [p for p in (pytester.path / ".yobx").iterdir() if p.is_dir()]
    run(pytester, "--yobx", "--yobx-artifacts-always", "on")
    assert len([p for p in (pytester.path / ".yobx").iterdir() if p.is_dir()]) == 3


@pytest.mark.parametrize(
    ("folder", "more"), [("taken", ()), ("taken/x", ()), ("taken/x", ("--yobx-report", "none"))]
)
def test_an_unwritable_folder_is_refused_before_the_run(pytester, folder, more):
    write_repository(pytester, ["good"])
    taken = pytester.path / "taken"
    taken.write_text("a file")
    result = run(pytester, "--yobx", "--yobx-artifacts", folder, *more)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            f"ERROR: yobx: reports and artifacts cannot be written to {pytester.path / folder}: "
            f"Not a directory: {taken}. Give another folder with --yobx-artifacts DIR, or the ini "
            "value yobx_artifacts"
        ]
    )
    assert run(pytester, "--yobx", "--yobx-artifacts", folder, "--collect-only").ret == 0


def test_a_folder_of_the_system_is_refused_in_words(pytester):
    write_repository(pytester, ["good"])
    folder = Path("/proc/x")
    if not folder.parent.is_dir():
        pytest.skip("this system has no such folder")
    result = run(pytester, "--yobx", "--yobx-artifacts", str(folder))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*cannot be written to /proc/x: the folder /proc takes no new *"])


def test_artifacts_of_what_is_in_order_since_are_removed(pytester):
    def folders():
        return [p.name for p in (pytester.path / ".yobx").iterdir() if p.is_dir()]

    write_repository(pytester, ["wrong", "shapes"])
    run(pytester, "--yobx", "--yobx-bindings", "primes")
    assert len(folders()) == 2
    zoo = pytester.path / "zoo.py"
    zoo.write_text(zoo.read_text() + "def wrong():\n    raise OSError('no weights')\n")
    run(pytester, "--yobx", "--yobx-bindings", "primes", "-k", "wrong")
    # Of the one that fails otherwise now nothing is left; the other did not run.
    (left,) = folders()
    assert "shapes" in left
    write_repository(pytester, ["good"])
    run(pytester, "--yobx", "-k", "good")
    assert folders() == [left]
    run(pytester, "--yobx")
    assert folders() == []  # it is no model of the repository any more


def test_a_factory_that_ends_the_process_fails_in_its_phase(pytester):
    write_repository(pytester, [], "")
    pytester.makepyfile(ending="def build():\n    raise SystemExit('no weights')\n")
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["ending:build"]\n')
    result = run(pytester, "--yobx")
    result.assert_outcomes(failed=1, skipped=2)
    result.stdout.fnmatch_lines(
        [
            "ending:build ended the process instead of giving a model: SystemExit: no weights (at "
            "ending.py:2, in build).",
            "*failed: import",
        ]
    )


def test_what_switches_colours_is_not_in_the_text(pytester):
    write_repository(pytester, [], "")
    error = "ValueError('\\x1b[1mbold\\x1b[0m words')"
    pytester.makepyfile(coloured=f"def build():\n    raise {error}\n")
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["coloured:build"]\n')
    result = run(pytester, "--yobx")
    result.stdout.fnmatch_lines(["E   ValueError: bold words"])
    assert "\x1b" not in result.stdout.str()


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("min-cells", "-3", "*'-3': a number of checks, 0 or more, is expected"),
        ("target-opset", "99", "*'99': opsets are integers from 18 to *, the newest that the *"),
        ("target-opset", "21,3", "*'21,3': opsets are integers from 18 to *"),
    ],
)
def test_numbers_that_cannot_be_are_refused_at_once(pytester, flag, value, words):
    write_repository(pytester, ["good"])
    result = run(pytester, "--yobx", f"--yobx-{flag}", value)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


def test_a_report_that_is_a_folder_is_refused_before_the_run(pytester):
    write_repository(pytester, ["good"])
    (pytester.path / ".yobx" / "report.json").mkdir(parents=True)
    result = run(pytester, "--yobx", "-n", "1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*cannot be written to *: Is a directory: *report.json. *"])
    html = run(pytester, "--yobx", "--yobx-report", "html", "--yobx-bindings", "ones")
    html.assert_outcomes(passed=1)


SPOILED = """
from pathlib import Path
from fake_framework import Model, X

def wrong():
    Path("reports").write_text("a file")
    return Model("values"), (X,)
"""


def test_a_folder_that_goes_meanwhile_does_not_hide_the_result(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(more=SPOILED)
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["more:wrong"]\n')
    result = run(pytester, "--yobx", "--yobx-artifacts", "reports", "--yobx-bindings", "primes")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*artifacts could not be written*", "*reports could not be written to *This run is red."]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_report_that_is_missing_is_red(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(more=SPOILED.replace('"values"', ""))
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["more:wrong"]\n')
    result = run(pytester, "--yobx", "--yobx-artifacts", "reports", "--yobx-bindings", "primes")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*reports could not be written to *This run is red."])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_what_stands_in_the_text_is_not_shown_as_a_traceback_too(pytester):
    pytester.makepyfile(
        """
        import numpy as np
        import onnx
        import pytest
        from yobx.errors import VerificationError

        def test_it(assert_converts):
            with pytest.raises(VerificationError) as caught:
                assert_converts(onnx.ModelProto(), (np.zeros(3, "f4"),))
            assert "not made" in str(caught.value)
            assert caught.value.__cause__ is None
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_a_syntax_error_is_told_without_the_frames_of_pytest(pytester):
    write_repository(pytester, [])
    pytester.makepyfile(broken="def factory(:\n")
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nyobx_models = ["broken:factory"]\n')
    result = run(pytester, "--yobx", "--yobx-bindings", "primes")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*broken.py*line 1", "SyntaxError: invalid syntax"])
    assert "pluggy" not in result.stdout.str()[result.stdout.str().index("FAILURES") :]


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("zoo.good", "hint: Did you mean 'zoo:good'?"),
        ("zoo.goood", "hint: Did you mean 'zoo:good'?"),
        ("zoo.unlike_any", ""),
        ("no_such_module.good", ""),
        ("zoo", ""),
    ],
)
def test_an_import_path_without_its_colon_is_told(pytester, entry, hint):
    write_repository(pytester, [])
    pytester.makepyprojecttoml(f'[tool.pytest.ini_options]\nyobx_models = ["{entry}"]\n')
    result = run(pytester, "--yobx")
    result.assert_outcomes(failed=1)
    words = [f"yobx_models entry '{entry}' matches no *form package.module:attribute."]
    result.stdout.fnmatch_lines([*words, hint] if hint else words, consecutive=True)
    if not hint:
        result.stdout.no_fnmatch_line("*Did you mean*")
