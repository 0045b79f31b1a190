from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import onnxruntime
import pytest

from yobx.errors import ArgumentError
from yobx.lowering.opsets import newest_opset
from yobx.tensorflow.options import ConvertOptions


def test_defaults() -> None:
    options = ConvertOptions()
    assert options.target_opset == {"": 21}
    assert options.extra_converters == {}
    assert options.input_names is None


def test_newest_opset_is_what_onnxruntime_loads() -> None:
    newest = newest_opset()

    def loads(version: int) -> bool:
        node = onnx.helper.make_node("Abs", ["x"], ["y"])
        value = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([node], "g", [value("x", 1, [1])], [value("y", 1, [1])])
        imports = [onnx.helper.make_opsetid("", version)]
        model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)
        try:
            onnxruntime.InferenceSession(model.SerializeToString())
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            return False
        return True

    assert newest >= 21
    assert loads(newest)
    assert not loads(newest + 1)
    assert ConvertOptions(target_opset=newest).target_opset == {"": newest}
    with pytest.raises(ArgumentError, match=f"from 18 to {newest}"):
        ConvertOptions(target_opset=newest + 1)


def test_opset_by_domain() -> None:
    assert ConvertOptions(target_opset={"ai.onnx": 20}).target_opset == {"": 20}
    assert ConvertOptions(target_opset={"ai.onnx.ml": 4}).target_opset == {"": 21, "ai.onnx.ml": 4}


@pytest.mark.parametrize("value", [17, 0, -1, 21.0, "21", True, None, {"": 17}, {3: 21}])
def test_wrong_opset(value: object) -> None:
    with pytest.raises(ArgumentError, match="target_opset"):
        ConvertOptions(target_opset=value)


@pytest.mark.parametrize("value", ["x", [1], ["x", "x"], [""], 3])
def test_wrong_input_names(value: object) -> None:
    with pytest.raises(ArgumentError, match="input_names") as caught:
        ConvertOptions(input_names=value)
    assert caught.value.argument == "input_names"


@pytest.mark.parametrize("value", [["Relu"], {"Relu": 1}, {1: print}])
def test_wrong_extra_converters(value: object) -> None:
    with pytest.raises(ArgumentError, match="extra_converters"):
        ConvertOptions(extra_converters=value)


@pytest.mark.parametrize("value", [-1, "1", None])
def test_wrong_verbose(value: object) -> None:
    with pytest.raises(ArgumentError, match="verbose"):
        ConvertOptions(verbose=value)


def test_wrong_filename(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="is a folder"):
        ConvertOptions(filename=tmp_path)
    with pytest.raises(ArgumentError, match="not a folder"):
        ConvertOptions(filename=tmp_path / "absent" / "model.onnx")
    assert ConvertOptions(filename=str(tmp_path / "m.onnx")).filename == tmp_path / "m.onnx"


def test_wrong_passes() -> None:
    with pytest.raises(ArgumentError, match="passes"):
        ConvertOptions(passes=(3,))


def test_default_opset_needs_no_runtime() -> None:
    code = (
        "import sys; from yobx.tensorflow.options import ConvertOptions; ConvertOptions();"
        "assert 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "convert", [lambda g, sts, outputs: "", lambda *, g: "", lambda g, sts, outputs, op, more: ""]
)
def test_a_converter_that_cannot_be_called(convert: object) -> None:
    with pytest.raises(ArgumentError, match=r"\(g, sts, outputs, op\)") as caught:
        ConvertOptions(extra_converters={"Relu": convert})
    assert caught.value.argument == "extra_converters"


def test_converters_that_can_be_called() -> None:
    def with_verbose(g: object, sts: object, outputs: object, op: object, *, verbose: int) -> None:
        """Does nothing."""

    converters = {"Relu": with_verbose, "Elu": lambda *args: "", "Selu": lambda *args, **more: ""}
    assert ConvertOptions(extra_converters=converters).extra_converters == converters


@pytest.mark.parametrize("name", ["a" * 300 + ".onnx", "nul\0.onnx"])
def test_filename_that_the_system_refuses(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match="that the system accepts") as caught:
        ConvertOptions(filename=tmp_path / name)
    assert caught.value.argument == "filename"
