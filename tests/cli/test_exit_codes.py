"""One table of exit codes, the same for every command."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.repository_rules import ROOT
from yobx.__main__ import main
from yobx.cli.outcome import ExitCode

JUNK = bytes(range(1, 200))
GRAPHDEF = ["--graphdef", "--graph-outputs", "y:0"]


def tanh(path: Path) -> None:
    """A model of one node."""
    values = [helper.make_tensor_value_info(name, 1, ["B", 4]) for name in "xy"]
    node = helper.make_node("Tanh", ["x"], ["y"])
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that hold nothing of use, and one good model."""
    monkeypatch.chdir(tmp_path)
    for name in ("bad.onnx", "bad.keras", "bad.h5", "bad.pb", "bad.bin", "saved/saved_model.pb"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(JUNK)
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.py").write_text("1 / 0\n")
    tanh(tmp_path / "good.onnx")
    return tmp_path


CORRUPT = ["bad.keras", "bad.h5", "saved", "broken.py:model"]
WRONG = ["gone.keras", "empty", "no_such_module_at_all:model", "broken.py"]


def code(*arguments: str) -> int:
    return main([*arguments, "-q"])


@pytest.mark.parametrize("command", [("check",), ("convert", "-o", "out.onnx")])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        *[([name], ExitCode.MODEL) for name in CORRUPT],
        *[([name], ExitCode.USAGE) for name in WRONG],
        (["bad.pb", *GRAPHDEF], ExitCode.MODEL),
        (["gone.pb", *GRAPHDEF], ExitCode.USAGE),
        (["bad.bin", "--jax"], ExitCode.MODEL),
        (["gone.bin", "--jax"], ExitCode.USAGE),
    ],
)
def test_models(
    folder: Path, command: tuple[str, ...], arguments: list[str], expected: ExitCode
) -> None:
    assert code(*command, *arguments) == expected
    assert not (folder / "out.onnx").exists()


@pytest.mark.parametrize("command", ["infer", "check"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bad.onnx", ExitCode.MODEL),
        ("empty.onnx", ExitCode.MODEL),
        ("gone.onnx", ExitCode.USAGE),
        ("empty", ExitCode.USAGE),
    ],
)
def test_onnx_files(folder: Path, command: str, name: str, expected: ExitCode) -> None:
    assert code(command, name) == expected


def test_an_onnx_model_is_compared_with_the_file_beside_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code("check", "good.onnx") == ExitCode.USAGE
    assert capsys.readouterr().err == (
        "error: good.onnx has nothing to be compared with\n"
        "hint: write good_reference.py with a function reference(*inputs) over numpy arrays, and, "
        "if inputs are not to be made from the signature, inputs() that returns a tuple of them; "
        "for its shapes alone: yobx infer good.onnx\n"
    )
    companion = folder / "good_reference.py"
    companion.write_text("import numpy\nreference = numpy.tanh\n")
    assert code("check", "good.onnx") == ExitCode.OK
    companion.write_text("import numpy\nreference = numpy.sin\n")
    assert code("check", "good.onnx") == ExitCode.DIFFERENCE
    assert "model good" in capsys.readouterr().out
    companion.write_text("references = 3\n")
    assert code("check", "good.onnx") == ExitCode.USAGE
    assert "must define a function reference(*inputs)" in capsys.readouterr().err


def test_inputs_of_the_file_beside_it(folder: Path) -> None:
    text = (
        "import numpy\nseen = []\ndef reference(x):\n    seen.append(x)\n    return numpy.tanh(x)\n"
    )
    made = "def inputs():\n    return (numpy.full((3, 4), 7, numpy.float32),)\n"
    (folder / "good_reference.py").write_text(text + made)
    assert code("check", "good.onnx") == ExitCode.OK
    import sys

    assert np.all(np.concatenate(sys.modules["good_reference"].seen)[:3] == 7)


def test_the_table_is_that_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    table = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    listed = {
        int(n)
        for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
        for n in row.split(",")
    }
    assert listed == {int(member) for member in ExitCode}
