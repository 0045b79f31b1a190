"""``yobx infer`` on a small model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from yobx.__main__ import main
from yobx.cli.outcome import ExitCode

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[n, 4] x) => (float[a, b] y) {
    sum = Add(x, x)
    y = Concat <axis = 0> (sum, x)
}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    target = tmp_path / "model.onnx"
    onnx.save_model(onnx.parser.parse_model(MODEL), target)
    return str(target)


def test_lines(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", path]) == ExitCode.OK
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "value\ttype\tmade by",
        "x\tfloat32[n, 4]\tinput",
        "sum\tfloat32[n, 4]\t#0 Add",
        "y\tfloat32[2*n, 4]\t#1 Concat",
    ]
    assert "3 values, 3 with every size known or named" in shown.err


def test_json(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", path, "--json", "--quiet"]) == ExitCode.OK
    shown = capsys.readouterr()
    assert json.loads(shown.out)[1] == {
        "name": "sum",
        "type": "float32[n, 4]",
        "producer": "#0 Add",
        "is_known": True,
    }
    assert shown.err == ""


def test_output(path: str, tmp_path: Path) -> None:
    target = tmp_path / "inferred.onnx"
    assert main(["infer", path, "-o", str(target), "-q"]) == ExitCode.OK
    assert [value.name for value in onnx.load(target).graph.value_info] == ["sum"]


def test_strict_reports_the_contradiction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.onnx"
    onnx.save_model(onnx.parser.parse_model(MODEL.replace("float[a, b] y", "float[n, 5] y")), path)
    assert main(["infer", str(path), "--strict"]) == ExitCode.DIFFERENCE
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "code"), [(None, ExitCode.USAGE), (b"not a model", ExitCode.MODEL)]
)
def test_unreadable_models(
    content: bytes | None, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    assert main(["infer", str(path)]) == code
    assert "model.onnx" in capsys.readouterr().err


def test_explain_an_unknown_name(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", path, "--explain", "absent"]) == ExitCode.USAGE
    assert "no value of that name" in capsys.readouterr().err
    assert main(["infer", path, "--explain", "summ"]) == ExitCode.USAGE
    assert "Received: --explain summ.\nhint: Did you mean 'sum'? List" in capsys.readouterr().err


def test_explain_a_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "data.onnx"
    text = MODEL.replace("y = Concat <axis = 0> (sum, x)", "z = NonZero (sum) y = Transpose (z)")
    onnx.save_model(onnx.parser.parse_model(text.replace("float[a, b] y", "int64[a, 2] y")), path)
    assert main(["infer", str(path), "--explain", "y", "-q"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "NonZero" in shown
    assert "at most 4*n" in shown


def test_weights_inside_branches_and_attributes_are_in_other_files_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (bool c, float[4] x) => (float[4] y) {
        k = Constant <value = float[4] {1, 2, 3, 4}> ()
        y = If (c) <
            then_branch = t () => (float[4] a) <float[4] w = {1, 1, 1, 1}> { a = Add(x, w) },
            else_branch = e () => (float[4] b) { b = Add(x, k) }
        >
    }"""
    model = onnx.parser.parse_model(text)
    inner = model.graph.node[1].attribute[0].g.initializer[0]
    for position, tensor in enumerate((inner, model.graph.node[0].attribute[0].t)):
        stored, kept = onnx.TensorProto(), onnx.TensorProto()
        kept.CopyFrom(tensor)
        stored.CopyFrom(onnx.numpy_helper.from_array(np.ones(4, np.float32), tensor.name))
        onnx.external_data_helper.set_external_data(stored, "w.bin")
        stored.ClearField("raw_data")
        tensor.CopyFrom(stored)
        path = tmp_path / str(position) / "model.onnx"
        path.parent.mkdir()
        path.with_name("w.bin").write_bytes(np.ones(4, np.float32).tobytes())
        path.write_bytes(model.SerializeToString())
        tensor.CopyFrom(kept)
        assert main(["infer", str(path), "-q", "-o", str(tmp_path / "out.onnx")]) == ExitCode.USAGE
        assert "has 1 such weight." in capsys.readouterr().err


def test_a_model_is_written_next_to_its_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx.parser.parse_model(MODEL.replace("Add(x, x)", "Add(x, w)"))
    weight = onnx.numpy_helper.from_array(np.ones((1, 4), np.float32), "w")
    model.graph.initializer.append(weight)
    path = tmp_path / "in" / "model.onnx"
    path.parent.mkdir()
    onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert main(["infer", str(path), "-q", "-o", str(tmp_path / "out.onnx")]) == ExitCode.USAGE
    assert "next to them" in capsys.readouterr().err
    target = path.with_name("out.onnx")
    assert main(["infer", str(path), "-q", "-o", str(target)]) == ExitCode.OK
    assert onnx.numpy_helper.to_array(onnx.load(target).graph.initializer[0]).sum() == 4


@pytest.mark.parametrize("name", ["model.keras", "saved"])
def test_a_model_of_another_kind_is_converted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.keras").touch()
    Path("saved").mkdir()
    Path("saved", "saved_model.pb").touch()
    assert main(["infer", name]) == ExitCode.USAGE
    told = f"error: {name} is no ONNX model. Convert it first: yobx convert {name} -o model.onnx\n"
    assert capsys.readouterr().err == told
