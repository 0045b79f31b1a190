"""The script that repeats a failing check says what the check said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from tests.verification.models import model, value
from yobx.verification import run_check
from yobx.verification.artifacts import write_artifacts


def one_node(op_type: str, dtype: int = 1) -> onnx.ModelProto:
    node = helper.make_node(op_type, ["x"], ["y"])
    return model([node], [value("x", ["B", 2], dtype)], [value("y", ["B", 2], dtype)])


def with_element(kind: float) -> Any:
    def reference(x: Any) -> Any:
        result = np.abs(x)
        result[0, 1] = kind
        return result

    return reference


def rows(x: Any) -> list[list[Any]]:
    return [list(x[:, None])]


SPLIT = model(
    [helper.make_node("SplitToSequence", ["x"], ["y"], axis=0)],
    [value("x", ["B", 2])],
    [
        helper.make_value_info(
            "y", helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [1, 2]))
        )
    ],
)
FLOATS = np.array([[0.5, -1.0], [2.0, 0.0]], np.float32)
TEXTS = np.array([["a", "b"], ["c", "d"]], object)
LOW = FLOATS.astype(ml_dtypes.bfloat16)
FOUR_BITS = model(
    [
        helper.make_node("Cast", ["x"], ["wide"], to=onnx.TensorProto.INT32),
        helper.make_node("Cast", ["wide"], ["y"], to=onnx.TensorProto.INT4),
    ],
    [value("x", ["B", 2], onnx.TensorProto.INT4)],
    [value("y", ["B", 2], onnx.TensorProto.INT4)],
)
NIBBLES = np.array([[1, -7], [5, 3]], ml_dtypes.int4)


@pytest.mark.parametrize(
    ("target", "x", "right", "wrong", "words"),
    [
        (one_node("Abs"), FLOATS, np.abs, with_element(np.nan), "NaN in other places"),
        (one_node("Abs"), FLOATS, np.abs, with_element(np.inf), "infinities differ"),
        (one_node("Identity"), -0.0 * FLOATS, np.array, np.abs, "signs of zeros differ"),
        (one_node("Tanh"), FLOATS, np.tanh, np.sin, "max abs error"),
        (one_node("Abs"), FLOATS, np.abs, lambda x: (np.abs(x), x), "1, the source has 2"),
        (
            one_node("Abs"),
            FLOATS,
            np.abs,
            np.float64,
            "float32 [5, 2], the source gives float64",
        ),
        (
            one_node("Identity", 8),
            TEXTS,
            np.array,
            lambda x: x + "!",
            "10 of 10 elements differ",
        ),
        (one_node("Identity", 16), LOW, np.array, lambda x: x + x, "max abs error"),
        (FOUR_BITS, NIBBLES, np.array, lambda x: x[::-1], "max abs error"),
        (
            SPLIT,
            FLOATS,
            rows,
            lambda x: rows(x + 1),
            "max abs error",
        ),
        (SPLIT, FLOATS, rows, lambda x: rows(x[1:]), "y 5 tensors"),
    ],
    ids="nan inf sign values missing dtype strings bfloat16 int4 sequence length".split(),
)
def test_the_script_says_what_the_check_said(
    tmp_path: Path, target: onnx.ModelProto, x: Any, right: Any, wrong: Any, words: str
) -> None:
    """Whatever the difference is; and nothing where the check passed."""
    for name, reference in (("right", right), ("wrong", wrong)):
        result = run_check(target, (x,), reference=reference, bindings="primes")
        assert result.report.passed is (name == "right"), result.report.text()
        write_artifacts(result, tmp_path / name)
        done = subprocess.run(
            [sys.executable, str(tmp_path / name / "repro.py")],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == int(name == "wrong"), done.stdout + done.stderr
        assert (words in done.stdout) is (name == "wrong"), done.stdout
