"""``yobx check``: the report as text and as JSON, and what the exit code says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yobx.__main__ import main
from yobx.cli.outcome import ExitCode


def test_text(in_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "model.keras", "--bind", "batch=3", "--seed", "5"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "agrees" in text
    assert "batch=3" in text
    assert "seed 5" in text


def test_static_tells_which_sizes_stay_open(
    in_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "model.keras", "--static"]) == ExitCode.OK
    assert "features: float32[features_dim0, 4]. Give them" in capsys.readouterr().err


def test_json(in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.json"
    assert main(["check", "model.keras", "--json", str(target)]) == ExitCode.OK
    capsys.readouterr()
    assert main(["check", "model.keras", "--json", "-", "--quiet"]) == ExitCode.OK
    printed = json.loads(capsys.readouterr().out)
    written = json.loads(target.read_text())
    assert printed["passed"] is written["passed"] is True
    assert [phase["name"] for phase in printed["phases"]]
    assert {output["name"] for output in printed["outputs"]} == {"scores"}


def test_a_model_that_cannot_be_converted_is_not_a_difference(
    in_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["cli_heavy_models:unsupported", "--input", "x:float32[2]"]
    assert main(["check", *arguments]) == ExitCode.MODEL
    assert "BesselY0" in capsys.readouterr().out


def test_a_difference_is_told_by_the_exit_code(
    in_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = in_files / "cli_wrong.py"
    wrong.write_text(
        "from cli_heavy_models import twice\n"
        "import numpy as np\n"
        "def convert(g, sts, outputs, op):\n"
        "    return g.op.Add(op.inputs[0].name, op.inputs[1].name, outputs=outputs)\n"
        "def build():\n"
        "    x = np.full((3, 4), 5, np.float32)\n"
        "    return twice, (x,), {'extra_converters': {'Mul': convert}}\n"
    )
    assert main(["check", "cli_wrong:build"]) == ExitCode.DIFFERENCE
    assert "Mul" in capsys.readouterr().out


def test_html(in_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    assert main(["check", "model.keras", "--html", str(target), "--json", "-"]) == ExitCode.OK
    assert "scores" in target.read_text(encoding="utf-8")
    shown = capsys.readouterr()
    assert f"report written to {target}" in shown.err.splitlines()
    assert json.loads(shown.out)["model_name"]


@pytest.mark.parametrize("text", ["batch", "batch=x"])
def test_bad_binding(in_files: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "model.keras", "--bind", text]) == ExitCode.USAGE
    assert "SYMBOL=SIZE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("symbol", "told"),
    [
        ("nobody", "Received: nobody. The model has: batch."),
        ("batsh", "Received: batsh; did you mean 'batch'? The model has: batch."),
    ],
)
def test_a_binding_of_an_unknown_symbol(
    in_files: Path, symbol: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "model.keras", "--bind", f"{symbol}=3"]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[-2:] == [
        f"error: a binding names symbols of the inputs. {told}",
        "hint: on the command line: --bind SYMBOL=SIZE",
    ]


def test_wrong_use_leaves_the_report_that_was_asked_for(in_files: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    arguments = ["check", "model.keras", "--bind", "nobody=3", "--json", str(target)]
    assert main(arguments) == ExitCode.USAGE
    assert json.loads(target.read_text())["passed"] is False
