"""From options to the arguments of ``to_onnx``."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import export

from yobx.cli.parser import build_parser
from yobx.cli.source import Source, prepare
from yobx.errors import ArgumentError


@pytest.fixture(autouse=True)
def _models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders that pass a first look."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
    Path("folder").mkdir()
    Path("folder", "saved_model.pb").touch()


def _prepare(*arguments: str) -> Source:
    return prepare(build_parser().parse_args(["convert", "-o", "x.onnx", *arguments]))


def test_a_path_is_handed_over_with_its_options() -> None:
    source = _prepare("folder", "--signature", "s", "--tag", "serve", "--allow-unsafe")
    assert (source.model, source.args) == ("folder", None)
    assert source.options == {"signature": "s", "tag": ["serve"], "allow_unsafe": True}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {}),
        (["--static"], {"dynamic_shapes": {}}),
        (["--dynamic", "x:0=n,1=m"], {"dynamic_shapes": {"x": {0: "n", 1: "m"}}}),
        (["--opset", "20"], {"target_opset": 20}),
        (["--opset", "21,com.microsoft=1"], {"target_opset": {"": 21, "com.microsoft": 1}}),
        (["--input-names", "a, b"], {"input_names": ["a", "b"]}),
    ],
)
def test_options(arguments: list[str], expected: dict[str, Any]) -> None:
    assert _prepare("model.keras", *arguments).options == expected


def test_inputs_replace_those_of_the_factory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cli_source_models.py").write_text(
        "def build():\n    return len, (1,), {'dynamic_shapes': {}, 'target_opset': 20}\n"
    )
    kept = _prepare("cli_source_models.py:build")
    assert (kept.args, kept.options) == ((1,), {"dynamic_shapes": {}, "target_opset": 20})
    replaced = _prepare("cli_source_models.py:build", "--input", "x:float32[B]")
    assert replaced.args is not None
    assert [value.name for value in replaced.args] == ["x"]
    assert replaced.options == {"target_opset": 20}


@pytest.mark.parametrize("opset", ["17", "99", "99,com.microsoft=1"])
def test_an_opset_that_is_not_written_is_told_with_those_that_are(opset: str) -> None:
    with pytest.raises(ArgumentError, match=r"--opset is a version from 18 to \d+, .*--opset 21"):
        _prepare("absent.keras", "--opset", opset)


def test_static_and_dynamic_exclude_each_other() -> None:
    with pytest.raises(ArgumentError, match="exclude each other"):
        _prepare("model.keras", "--static", "--dynamic", "x:0=n")


@pytest.fixture
def jax_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of JAX functions, which is the current one."""
    (tmp_path / "cli_jax_functions.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "does not say what it takes"),
        (["--input", "x:float32[2]", "--signature", "s"], "--signature and --jax exclude"),
        (["--input", "x:float32[2]", "--tag", "s"], "--tag and --jax exclude"),
        (["--input", "x:float32[2]", "--allow-unsafe"], "--allow-unsafe and --jax exclude"),
    ],
)
def test_what_jax_functions_do_not_take(
    jax_module: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        _prepare("--jax", "cli_jax_functions:double", *arguments)


def test_a_file_of_an_exported_function(jax_module: Path) -> None:
    made = export.export(jax.jit(lambda x: x + 1))(jax.ShapeDtypeStruct((3,), np.float32))
    (jax_module / "function.bin").write_bytes(made.serialize())
    source = _prepare("--jax", "function.bin")
    assert source.model.in_avals == made.in_avals
    assert source.args is None
    (jax_module / "other.bin").write_bytes(b"other")
    for name in ("other.bin", "cli_jax_functions.py", "missing.bin", "."):
        with pytest.raises(ArgumentError, match=r"jax\.export\.Exported"):
            _prepare("--jax", name)
