"""Failure texts, word for word. ``python -m tests.verification.test_golden_texts`` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.verification.models import model, network, node_of, set_weight, unary, value, weight
from yobx.verification import ConversionReport, check_conversion

FOLDER = Path(__file__).parent / "golden"
X = np.random.default_rng(0).standard_normal((2, 16)).astype(np.float32)


def _against(change: Callable[[onnx.ModelProto], None], **options: object) -> ConversionReport:
    wrong = network()
    change(wrong)
    return check_conversion(wrong, (X,), reference=network(), name="net", **options)


def _epsilon(target: onnx.ModelProto) -> None:
    node_of(target, "bn1").attribute[0].f = 0.5


def _transposed(target: onnx.ModelProto) -> None:
    set_weight(target, "w2", np.ascontiguousarray(weight(target, "w2").T))


def _renamed(target: onnx.ModelProto) -> None:
    for value_info in target.graph.output:
        value_info.type.tensor_type.shape.dim[1].dim_param = "B"


def _invalid(target: onnx.ModelProto) -> None:
    target.graph.node[0].op_type = "MatMulte"


def _double(target: onnx.ModelProto) -> None:
    target.graph.node.append(helper.make_node("Cast", ["y"], ["z"], to=TensorProto.DOUBLE))
    del target.graph.output[:]
    target.graph.output.append(value("z", ["B", 16], TensorProto.DOUBLE))


def _two(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.abs(x), x


def _zero(x: np.ndarray) -> np.ndarray:
    return -np.abs(x)


def _nan(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.float32(np.nan), np.abs(x))


BIG = np.array([2**62 + 1, 5], np.int64)
INTEGERS = model(
    [helper.make_node("Add", ["x", "one"], ["y"])],
    [value("x", ["N"], TensorProto.INT64)],
    [value("y", ["N"], TensorProto.INT64)],
    {"one": np.array(1, np.int64)},
)
CASES: dict[str, Callable[[], ConversionReport]] = {
    "values": lambda: _against(_epsilon),
    "transposed_weights": lambda: _against(_transposed, bindings="primes"),
    "shapes": lambda: _against(_renamed),
    "invalid": lambda: _against(_invalid),
    "dtype": lambda: _against(_double, bindings="primes"),
    "missing_output": lambda: check_conversion(unary("Abs"), (X[:, :4],), reference=_two),
    "zero_sign": lambda: check_conversion(unary("Abs"), (0 * X[:, :4],), reference=_zero),
    "nan": lambda: check_conversion(unary("Abs"), (X[:, :4],), reference=_nan),
    "integers": lambda: check_conversion(INTEGERS, (BIG,), reference=lambda x: x),
    "no_inputs": lambda: check_conversion(abs, name="abs"),
    "agrees": lambda: _against(lambda target: None),
}


def text_of(name: str) -> str:
    """The text, with every measured number as ``#``: machines differ in the last places."""
    text = CASES[name]().text()
    # What a plain callable is taken for depends on the frameworks that are loaded already.
    text = text.replace("model abs (jax)", "model abs (tensorflow)")
    text = re.sub(r"(?<![\w\[])\d+\.\d+(e[+-]?\d+)?|\d+e[+-]\d+", "#", text)
    text = re.sub(r"(ULP p50) \S+ p99 \S+ max \S+", r"\1 # p99 # max #", text)
    text = re.sub(r"\d+%", "#%", text)
    text = re.sub(r"(max abs #) at \[[^\]]*\]", r"\1 at [#]", text)
    text = re.sub(r"\|err\| .*", "|err| #", text)
    return re.sub(r"\d+/(\d+) elements \(\S+\)", r"#/\1 elements (#)", text) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_golden_one(name):
    assert text_of(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_text_fits_one_screen(name):
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 24
    assert lines[0].startswith("yobx: ")


if __name__ == "__main__":
    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(text_of(case), encoding="utf-8")
