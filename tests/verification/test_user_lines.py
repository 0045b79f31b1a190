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
from yobx import places
from yobx.verification import check_conversion, run_check
from yobx.verification.artifacts import write_artifacts

HERE = Path(__file__)
LIBRARY = sysconfig.get_paths()["purelib"]


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([(str(HERE), 3), (f"{LIBRARY}/tensorflow/ops.py", 9)], f"{HERE.name}:3"),
        ([(str(HERE), 3), (f"{LIBRARY}/mypackage/net.py", 8)], "net.py:8"),
        ([(str(HERE), 3), (places.__file__, 5), (f"{LIBRARY}/keras/a.py", 2)], ""),
        ([(str(HERE), 3), (places.__file__, 5), (str(HERE), 7)], f"{HERE.name}:7"),
        ([(str(HERE), 4), (inspect.__file__, 2), ("<string>", 1)], f"{HERE.name}:4"),
        ([], ""),
    ],
)
def test_the_innermost_line_of_the_user(frames, found):
    assert places.innermost_user_line(frames).endswith(found)
    assert bool(places.innermost_user_line(frames)) is bool(found)


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


def messages(model, **options):
    report = check_conversion(model, (np.ones((2, 4), np.float32),), **options)
    return report.failed_phase, "\n".join(report.phase(report.failed_phase).messages)


def test_what_a_function_raises_while_jax_traces_it_has_its_line():
    pytest.importorskip("jax")

    def branching(x):
        return x if x.sum() > 0 else -x

    jnp = pytest.importorskip("jax.numpy")
    report = check_conversion(branching, (jnp.ones((2, 4)),))
    text = "\n".join(report.phase("trace").messages)
    line = branching.__code__.co_firstlineno + 1
    assert f"test_user_lines.py:{line}, in branching. The sizes batch are symbolic" in text
    assert "while tracing the function branching for jit" in text
    assert "convert.py" not in text


def test_what_a_layer_raises_while_keras_calls_it_has_its_line():
    keras = pytest.importorskip("keras")

    class Odd(keras.layers.Layer):
        def call(self, x):
            return keras.ops.reshape(x, (5, 7, 3))

    phase, text = messages(Odd())
    assert phase == "trace"
    line = Odd.call.__code__.co_firstlineno + 1
    assert f"test_user_lines.py:{line}: return keras.ops.reshape(x, (5, 7, 3))" in text


def _through_numpy(g, op):
    return str(np.linalg.inv(np.zeros((2, 3))))


def _direct(g, op):
    return {}["low"]


def _of_the_builder(g, op):
    return g.op.Clip("nowhere")


@pytest.mark.parametrize(
    ("converter", "words"),
    [
        (_through_numpy, "\nReached from {place}, in _through_numpy."),
        (_direct, "\nRaised in _direct ({place})."),
        (_of_the_builder, "\nRaised under {place}, in _of_the_builder."),
    ],
)
def test_what_a_converter_raises_has_its_line(converter, words):
    jnp = pytest.importorskip("jax.numpy")
    report = check_conversion(jnp.sin, (jnp.ones((2, 4)),), extra_converters={"sine": converter})
    text = "\n".join(report.phase("convert").messages)
    line = converter.__code__.co_firstlineno + 1
    place = words.partition("{place}")
    assert place[0].strip("\n(") in text
    assert f"test_user_lines.py:{line}{place[2]}" in text
