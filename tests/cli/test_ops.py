"""``yobx ops`` lists the live registries."""

from __future__ import annotations

import pytest

from yobx.__main__ import main
from yobx.cli.ops import checked, tables
from yobx.cli.outcome import ExitCode


@pytest.mark.parametrize(
    ("option", "search", "expected"),
    [("--tf", "relu", "Relu6"), ("--jax", "add", "stablehlo.add"), ("--onnx", "conc", "Concat")],
)
def test_search(
    option: str, search: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ops", option, "--search", search]) == ExitCode.OK
    header, *lines = capsys.readouterr().out.splitlines()
    columns = "from\toperation\tdtypes or versions\twritten in"
    assert header == (f"{columns}\tchecks passed\tlimits" if option == "--tf" else columns)
    names = [line.split("\t")[1] for line in lines]
    assert expected in names
    assert all(search in name.lower() for name in names)


def test_everything_by_default() -> None:
    found = tables()
    assert list(found) == ["tensorflow", "stablehlo", "onnx"]
    assert all(found.values())


def test_checks_of_an_operation() -> None:
    found = checked()
    passed, limits = found["RandomUniformInt"]
    assert passed > 0
    assert "not at opset" in limits
    assert found["Relu"][1] == ""
    assert "data_format=NCHW_VECT_C" in found["MaxPool"][1]


def test_a_search_that_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--onnx", "--search", "Matmull"]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: no supported operation has 'Matmull' in its name\nhint: ")
    assert "MatMul" in shown.err
