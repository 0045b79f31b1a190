"""``yobx convert`` on archives, folders, functions; what goes wrong leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from yobx.__main__ import main
from yobx.cli.outcome import ExitCode


@pytest.fixture
def output(in_files: Path, tmp_path: Path) -> Path:
    """A file that does not exist yet, while the working folder is that of the models."""
    return tmp_path / "model.onnx"


def _sizes(value: onnx.ValueInfoProto) -> list[str | int]:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize("opset", ["--opset", "--target-opset"])  # as the argument of to_onnx
def test_archive(
    in_files: Path, tmp_path: Path, opset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.onnx"
    options = ["--dynamic", "features:0=rows", opset, "20"]
    assert main(["convert", "model.keras", "-o", str(target), *options]) == ExitCode.OK
    model = onnx.load(target)
    assert model.graph.input[0].name == "features"
    assert _sizes(model.graph.input[0]) == ["rows", 4]
    assert _sizes(model.graph.output[0]) == ["rows", 2]
    assert next(o.version for o in model.opset_import if not o.domain) == 20
    shown = capsys.readouterr()
    assert "  input features: float32[rows, 4]" in shown.out.splitlines()
    assert "tracing" in shown.err


def test_quiet_and_static(
    in_files: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.onnx"
    options = ["--input", "features:float32[3,4]", "--input-names", "x", "--quiet"]
    assert main(["convert", "model.keras", "-o", str(target), *options]) == ExitCode.OK
    assert capfd.readouterr().err == ""
    model = onnx.load(target)
    assert model.graph.input[0].name == "x"
    assert _sizes(model.graph.input[0]) == [3, 4]


@pytest.mark.parametrize("more", [[], ["--check"]])
def test_static_tells_which_sizes_stay_open(
    in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    command = ["convert", "model.keras", "-o", str(tmp_path / "model.onnx"), "--static", *more]
    assert main(command) == ExitCode.OK
    note = (
        "note: --static cannot fix sizes that neither the model nor --input gives: "
        'features: float32[features_dim0, 4]. Give them, as in --input "features:float32[1,4]".'
    )
    assert note in capsys.readouterr().err.splitlines()
    assert main([*command, "--input", "features:float32[1,4]"]) == ExitCode.OK
    assert "--static cannot" not in capsys.readouterr().err


def test_check_writes_and_compares(
    in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.onnx"
    assert main(["convert", "model.keras", "-o", str(target), "--check"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "agrees" in shown
    assert "  input features: float32[batch, 4]" in shown.splitlines()
    assert any(line.startswith("  output ") for line in shown.splitlines())
    assert target.is_file()


def test_a_missing_file_is_told_without_tensorflow(tmp_path: Path) -> None:
    code = "import sys; from yobx.__main__ import main; code = main(sys.argv[1:]); "
    code += "print(code, *(m for m in ('tensorflow', 'keras', 'jax') if m in sys.modules))"
    for command in (
        ["convert", "absent.keras", "-o", str(tmp_path / "m.onnx")],
        ["check", "absent.keras"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
        )
        assert done.stdout.split()[-1] == str(int(ExitCode.USAGE)), done.stdout
        assert "absent.keras" in done.stderr


def test_archive_with_code_needs_a_word_from_the_user(
    in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.onnx"
    command = ["convert", "unsafe.keras", "-o", str(target)]
    assert main(command) == ExitCode.USAGE
    assert "--allow-unsafe" in capsys.readouterr().err
    assert not target.exists()
    assert main([*command, "--allow-unsafe"]) == ExitCode.OK
    assert target.is_file()
    assert main([*command, "--allow-unsafe", "--check"]) == ExitCode.OK


def test_signature_of_a_saved_model(
    in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.onnx"
    command = ["convert", "saved", "-o", str(target)]
    assert main([*command, "--signature", "triple"]) == ExitCode.USAGE
    message = capsys.readouterr().err
    assert "double" in message
    assert "half" in message
    assert main([*command, "--signature", "half"]) == ExitCode.OK
    runner = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    (got,) = runner.run(["y"], {"x": np.full((2, 3), 5, np.float32)})
    np.testing.assert_array_equal(got, np.full((2, 3), 2.5, np.float32))


@pytest.mark.parametrize("name", ["cli_heavy_models:twice", "cli_heavy_models.py:twice"])
def test_function_needs_inputs(
    name: str, in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.onnx"
    command = ["convert", name, "-o", str(target)]
    assert main(command) == ExitCode.USAGE
    assert "--input" in capsys.readouterr().err
    assert main([*command, "--input", "x:float64[B,?,3]"]) == ExitCode.OK
    value = onnx.load(target).graph.input[0]
    assert value.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    first, _, third = _sizes(value)
    assert (value.name, first, third) == ("x", "B", 3)


def test_factory_brings_its_inputs(in_files: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.onnx"
    command = ["convert", "cli_heavy_models:with_inputs", "-o", str(target)]
    assert main(command) == ExitCode.OK
    assert _sizes(onnx.load(target).graph.input[0]) == ["rows", 4]
    assert main([*command, "--static"]) == ExitCode.OK
    assert _sizes(onnx.load(target).graph.input[0]) == [3, 4]


def test_jax(in_files: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.onnx"
    command = ["convert", "--jax", "cli_heavy_models:jax_norm", "-o", str(target)]
    assert main([*command, "--input", "x:float32[B,4]"]) == ExitCode.OK
    model = onnx.load(target)
    assert _sizes(model.graph.input[0]) == ["B", 4]
    assert _sizes(model.graph.output[0]) == ["B"]


def test_errors_of_a_jax_function_are_those_of_jax(
    in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["convert", "-q", "--jax", "cli_heavy_models:raising", "--input", "x:float32[2]"]
    assert main([*command, "-o", str(tmp_path / "model.onnx")]) == ExitCode.MODEL
    told = capsys.readouterr().err
    assert "while JAX traces it" in told
    assert "the model is broken" in told
    layout = ["--inputs-as-nchw", "x", "-o", str(tmp_path / "model.onnx")]
    assert main([*command, *layout]) == ExitCode.USAGE


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.keras"], ExitCode.USAGE, "missing.keras"),
        (["no_such_module:model"], ExitCode.USAGE, "There is no module 'no_such_module'"),
        (["model.keras", "--dynamic", "absent:0=b"], ExitCode.USAGE, "features"),
        (["model.keras", "--dynamic", "features:7=b"], ExitCode.USAGE, "7"),
        (["model.keras", "--opset", "3"], ExitCode.USAGE, "--opset"),
        (["model.keras", "--static", "--dynamic", "features:0=b"], ExitCode.USAGE, "exclude"),
        (["model.keras", "--signature", "serve"], ExitCode.USAGE, "signature"),
        (
            ["cli_heavy_models:unsupported", "--input", "x:float32[2]"],
            ExitCode.MODEL,
            "BesselY0",
        ),
        (
            ["cli_heavy_models:raising", "--input", "x:float32[2]"],
            ExitCode.MODEL,
            "the model is broken",
        ),
    ],
)
def test_what_goes_wrong_leaves_nothing_behind(
    arguments: list[str],
    code: ExitCode,
    message: str,
    output: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["convert", *arguments, "-o", str(output), "-q"]) == code
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert not output.exists()


def test_all_unsupported_operations_are_listed(
    in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["cli_heavy_models:unsupported", "--input", "x:float32[2]"]
    assert main(["convert", *arguments, "-o", str(tmp_path / "x.onnx")]) == ExitCode.MODEL
    message = capsys.readouterr().err
    assert "BesselY0" in message
    assert "BesselY1" in message


def test_output_folder_must_exist(
    in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "absent" / "model.onnx"
    assert main(["convert", "model.keras", "-o", str(target)]) == ExitCode.USAGE
    assert "No such folder" in capsys.readouterr().err


def test_frozen_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 4, 4, 2], name="x")
        tf.nn.relu(tf.identity(x + 1.0, name="sums"), name="y")
    frozen, target = tmp_path / "frozen.pb", tmp_path / "model.onnx"
    frozen.write_bytes(graph.as_graph_def().SerializeToString())
    command = ["convert", str(frozen), "-o", str(target)]
    chosen = ["--graphdef", "--graph-inputs", "x:0", "--graph-outputs", "sums:0,y"]
    assert main([*command, *chosen, "--check"]) == ExitCode.OK
    layout = ["--inputs-as-nchw", "x", "--outputs-as-nchw", "y"]
    assert main([*command, *chosen, *layout]) == ExitCode.OK
    model = onnx.load(target)
    assert [(o.name, _sizes(o)) for o in model.graph.output] == [
        ("sums", ["batch", 4, 4, 2]),
        ("y", ["batch", 2, 4, 4]),
    ]
    assert main(command) == ExitCode.OK
    capsys.readouterr()
    for options, text in (
        (["--graph-outputs", "y"], "--graph-outputs belongs to --graphdef"),
        (["--graphdef", "--jax"], "exclude each other"),
        (["--graphdef", "--graph-outputs", "z"], "--graph-outputs"),
        ([*chosen, *layout, "--check"], "order of the model"),
    ):
        assert main([*command, *options]) == ExitCode.USAGE
        assert text in capsys.readouterr().err
