"""The twelve promises of the plugin, one test each; details are tested where they are made."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from tests.pytest_yobx.support import run, write_repository
from tests.verification.models import model, unary, value
from yobx.verification import check_conversion, run_check
from yobx.verification.artifacts import write_artifacts

pytest_plugins = ["pytester"]

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4)).astype(np.float32)
PRIMES = ("--yobx", "--yobx-bindings", "primes")


def report(pytester):
    return json.loads((pytester.path / ".yobx" / "report.json").read_text())


def test_1_swapped_symbols_are_caught_and_named():
    # The declared output is that of the input; a transposed one comes out. Equal sizes hide it.
    swapped = unary("Transpose", ("B", "S"), perm=[1, 0])
    found = check_conversion(swapped, (X,), reference=lambda x: x.T)
    assert found.phase("shape-match").outcome == "failed"
    text = found.text()
    assert "declared [B, S] but run time" in text
    assert re.search(r"dim 0 is B = \d+ but runs as \d+ \(should be S\)", text)
    assert all(len(set(b.sizes.values())) == 2 for b in found.bindings if b.label != "ones")
    static = unary("Transpose", ("B", 4), perm=[1, 0])
    assert "(should be B)" in check_conversion(static, (X,), reference=lambda x: x.T).text()


def test_2_an_integer_off_by_one_is_caught():
    nodes = [helper.make_node("Add", ["x", "one"], ["y"])]
    big = value("x", ["N"], TensorProto.INT64)
    add = model(nodes, [big], [value("y", ["N"], TensorProto.INT64)], {"one": np.array(1)})
    found = check_conversion(add, (np.array([2**62, 7]),), reference=lambda x: x)
    assert found.failed_phase == "values"
    assert "got 4611686018427387905  want 4611686018427387904" in found.text()


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (lambda x: (np.abs(x), x), "missing from the converted model"),
        (lambda x: (), "unknown to the source"),
        (lambda x: np.abs(x).astype(np.float64), "float32, the source gives float64"),
    ],
)
def test_3_outputs_missing_extra_and_of_another_dtype_are_caught(reference, words):
    found = check_conversion(unary("Abs"), (X,), reference=reference)
    assert found.failed_phase == "structure"
    assert words in found.text()


def test_4_the_tail_of_sigmoid_is_the_run_time():
    x = np.linspace(-30, -17, 64).astype(np.float32)
    sigmoid = unary("Sigmoid", ("B",))

    def reference(x):
        return (1.0 / (1.0 + np.exp(-x.astype(np.float64)))).astype(np.float32)

    assert check_conversion(sigmoid, (x,), reference=reference).passed  # a documented exception
    strict = check_conversion(sigmoid, (x,), reference=reference, tolerance_class="transcendental")
    assert strict.localization.verdict == "runtime"
    assert "the runtime is off, not the converter" in strict.text()


def test_5_a_long_product_passes_and_one_wrong_weight_fails():
    weights = RNG.standard_normal((4096, 8)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    ends = [value("x", ["B", 4096])], [value("y", ["B", 8])]
    x = RNG.standard_normal((16, 4096)).astype(np.float32)
    right = model(nodes, *ends, {"w": weights})
    assert check_conversion(right, (x,), reference=lambda x: x @ weights).passed
    off = weights.copy()
    off[1234, 5] += np.float32(1e-3)
    wrong = model(nodes, *ends, {"w": off})
    found = check_conversion(wrong, (x,), reference=lambda x: x @ weights)
    assert found.failed_phase == "values"


def test_6_a_killed_worker_is_a_crash_and_the_rest_completes(pytester):
    write_repository(pytester, ["good"])
    pytester.makepyfile(
        test_own="""
        import os, signal
        def test_own(assert_converts): os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    result = run(pytester, *PRIMES, "-n", "1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert report(pytester)["totals"] == {"crash": 1, "passed": 1}


def test_7_importing_is_light():
    code = "import pytest, time; t = time.process_time(); import pytest_yobx; "
    code += "import sys; print(time.process_time() - t, 'tensorflow' in sys.modules, "
    code += "'jax' in sys.modules, 'onnx' in sys.modules, 'numpy' in sys.modules)"
    spent = []
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        seconds, *loaded = out.decode().split()
        assert loaded == ["False"] * 4
        spent.append(float(seconds))
    assert min(spent) < 0.05


def test_8_nothing_and_half_of_the_cells_are_red(pytester):
    write_repository(pytester, ["good", "alone"])
    assert run(pytester, *PRIMES, "-k", "nosuch").ret != 0
    assert run(pytester, *PRIMES).ret == 0
    (pytester.path / ".yobx" / "report.json").rename(pytester.path / "night.json")
    half = run(pytester, *PRIMES, "-k", "good", "--yobx-baseline", "night.json")
    half.assert_outcomes(passed=1, deselected=1)
    assert half.ret == pytest.ExitCode.TESTS_FAILED


def test_9_the_same_seed_gives_the_same_report(pytester):
    write_repository(pytester, ["good", "wrong", "convert", "shapes"])
    texts = []
    for _ in range(2):
        run(pytester, "--yobx", "--yobx-seed", "5")
        text = (pytester.path / ".yobx" / "report.json").read_bytes()
        texts.append(re.sub(rb'"seconds": [\d.e-]+', b'"seconds": 0', text))  # but for time
        time.sleep(0.01)
    assert texts[0] == texts[1]


def test_10_a_regression_is_one_changed_cell(pytester):
    write_repository(pytester, ["good", "alone", "wrong"])
    run(pytester, *PRIMES)
    (pytester.path / ".yobx" / "report.json").rename(pytester.path / "night.json")
    zoo = pytester.path / "zoo.py"
    zoo.write_text(zoo.read_text().replace('Model(name="alone")', 'Model("values", name="alone")'))
    run(pytester, *PRIMES, "--yobx-baseline", "night.json")
    changed = report(pytester)["changes"]
    assert [cell for cells in changed.values() for cell in cells] == [
        "pyproject.toml::zoo:alone[primes]"
    ]
    assert changed["new_failures"]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("wrong", ""), ("wrong", "")], "expected.toml:7: 'zoo:wrong*' is listed at*toml:2 al*"),
        ([("wrong", ""), ("gone", "")], "expected.toml:7: no check is called 'zoo:gone?'*"),
        ([("wrong", 'until = "2020-01-01"')], "expected.toml:2: *expired on 2020-01-01*"),
    ],
)
def test_11_wrong_expectations_fail_with_file_and_line(pytester, entries, words):
    write_repository(pytester, ["wrong"])
    lines = ["schema = 1"]
    for name, more in entries:
        lines += ["[[expect]]", f'case = "zoo:{name}*"', 'phase = "values"', 'reason = "known"']
        lines += [more]
    (pytester.path / "expected.toml").write_text("\n".join(lines) + "\n")
    result = run(pytester, *PRIMES, "--yobx-expectations", "expected.toml")
    result.assert_outcomes(xfailed=1, failed=1)
    result.stdout.fnmatch_lines([words])


def test_12_the_script_needs_onnxruntime_alone(tmp_path):
    wrong = run_check(unary("Exp"), (X,), reference=lambda x: np.exp(x) + 1, bindings="primes")
    write_artifacts(wrong, tmp_path / "artifacts")
    packages = tmp_path / "packages"
    packages.mkdir()
    for package in (np, onnxruntime):  # and the libraries of the wheel beside it
        home = Path(package.__file__).parent
        for folder in (home, home.with_name(f"{home.name}.libs")):
            if folder.exists():
                (packages / folder.name).symlink_to(folder)
    script = tmp_path / "artifacts" / "repro.py"
    code = f"import runpy, sys; sys.path.append({str(packages)!r}); sys.argv = [{str(script)!r}]; "
    code += f"runpy.run_path({str(script)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.endswith("wrong outputs: 1\n")
