from __future__ import annotations

import inspect
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.verification.models import network, node_of
from yobx.verification import run_check, user_lines
from yobx.verification.artifacts import write_artifacts

HERE = Path(__file__)
LIBRARY = sysconfig.get_paths()["purelib"]


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([(str(HERE), 3), (f"{LIBRARY}/tensorflow/ops.py", 9)], f"{HERE.name}:3"),
        ([(str(HERE), 3), (f"{LIBRARY}/mypackage/net.py", 8)], "net.py:8"),
        ([(str(HERE), 3), (user_lines.__file__, 5), (f"{LIBRARY}/keras/a.py", 2)], ""),
        ([(str(HERE), 3), (user_lines.__file__, 5), (str(HERE), 7)], f"{HERE.name}:7"),
        ([(str(HERE), 4), (inspect.__file__, 2), ("<string>", 1)], f"{HERE.name}:4"),
        ([], ""),
    ],
)
def test_the_innermost_line_of_the_user(frames, found):
    assert user_lines.innermost_user_line(frames).endswith(found)
    assert bool(user_lines.innermost_user_line(frames)) is bool(found)


def test_a_wrong_operation_is_told_with_the_line_that_made_it():
    tf = pytest.importorskip("tensorflow")

    @tf.function
    def model(x):
        y = tf.nn.relu(x) + 1.0
        return tf.math.tanh(y) * 2.0  # the line

    def convert(g, sts, outputs, op):
        return g.op.Sin(op.inputs[0].name, outputs=outputs, name=op.name)

    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    result = run_check(model, (x,), extra_converters={"Tanh": convert}, bindings="primes")
    lines, start = inspect.getsourcelines(test_a_wrong_operation_is_told_with_the_line_that_made_it)
    number = start + next(i for i, line in enumerate(lines) if "# the line" in line)
    found = result.report.localization
    assert found.user_line.endswith(f"{HERE.name}:{number}")
    assert f"({found.user_line})" in result.report.text()
    # The converted model itself does not hold it.
    assert HERE.name.encode() not in result.model.SerializeToString()


@pytest.fixture
def failing(tmp_path):
    right, wrong = network(), network()
    node_of(wrong, "bn1").attribute[0].f = 0.5
    x = np.random.default_rng(0).standard_normal((2, 16)).astype(np.float32)
    result = run_check(wrong, (x,), reference=right, bindings="primes")
    write_artifacts(result, tmp_path)
    return result, tmp_path


def test_the_piece_that_fails_is_kept(failing):
    result, folder = failing
    piece = onnx.load(folder / "reduced.onnx")
    onnx.checker.check_model(piece)
    assert [node.op_type for node in piece.graph.node] == ["BatchNormalization"]
    assert result.report.localization.reduced_nodes == 1
    assert len(result.model.graph.node) == 10


def test_the_script_repeats_the_piece_and_the_whole(failing):
    _, folder = failing
    for arguments, output in (((), "y"), (("reduced",), "n1")):
        run = subprocess.run(
            [sys.executable, str(folder / "repro.py"), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 1, run.stderr
        assert run.stdout.startswith(f"{output} float32 (5, 16) max abs error")
        assert run.stdout.endswith("wrong outputs: 1\n")
    # With the right operator the piece agrees: the script can tell.
    piece = onnx.load(folder / "reduced.onnx")
    piece.graph.node[0].attribute[0].f = 1e-3
    onnx.save(piece, str(folder / "reduced.onnx"))
    run = subprocess.run(
        [sys.executable, str(folder / "repro.py"), "reduced"], check=False, capture_output=True
    )
    assert run.returncode == 0
