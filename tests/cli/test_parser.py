"""Help a newcomer can use, and usage errors that name the option."""

from __future__ import annotations

import pytest

from yobx import __version__
from yobx.__main__ import main
from yobx.cli.outcome import ExitCode
from yobx.cli.parser import build_parser

COMMANDS = ["convert", "check", "infer", "ops"]


def test_help_shows_examples_and_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert all(f"yobx {command}" in text for command in COMMANDS)
    assert all(f"\n  {code.value}  " in text for code in ExitCode)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"usage: yobx {command}" in capsys.readouterr().out


def test_no_command_is_a_usage_error_that_shows_the_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == ExitCode.USAGE
    assert "examples:" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"yobx {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["convert", "m.keras"], ["convert", "-o", "x.onnx"], ["infer"], ["nonsense"]]
)
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args(arguments)
    assert caught.value.code == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("yobx")
    assert line.endswith("--help")


def test_options_are_written_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["convert", "m.pb", "-o", "x.onnx", "--outputs-as", "y"])
    assert "unrecognized arguments: --outputs-as y" in capsys.readouterr().err
    whole = ["convert", "m.pb", "-o", "x.onnx", "--outputs-as-nchw", "y"]
    assert build_parser().parse_args(whole).outputs_as_nchw == "y"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["chek"],
            "there is no command 'chek'. Did you mean check? Commands: convert, check, infer, ops; "
            "yobx --help",
        ),
        (
            ["stats"],
            "there is no command 'stats'. Commands: convert, check, infer, ops; yobx --help",
        ),
        (["ops", "--torch"], "unknown option --torch. All options: yobx ops --help"),
        (
            ["convert", "m.keras", "--bind", "b=3"],
            "unknown option --bind. yobx check has it. All options: yobx convert --help",
        ),
        (
            ["convert", "m.keras", "--outptu", "x"],
            "unknown option --outptu. Did you mean --output? All options: yobx convert --help",
        ),
        (
            ["check", "m.keras", "--dyn=x"],
            "unknown option --dyn. Did you mean --dynamic? All options: yobx check --help",
        ),
        (["infer", "m.onnx", "--zzz"], "unknown option --zzz. All options: yobx infer --help"),
        (["infer", "a", "b"], "one argument too many: b. All options: yobx infer --help"),
        (
            ["--versoin"],
            "unknown option --versoin. Did you mean --version? All options: yobx --help",
        ),
    ],
)
def test_unknown_names_end_in_known_ones(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == ExitCode.USAGE
    assert capsys.readouterr().err.splitlines()[-1].partition("error: ")[2] == message
