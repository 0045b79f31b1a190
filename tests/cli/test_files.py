"""Files that cannot be written are told before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from yobx.__main__ import main
from yobx.cli.files import refuse_unwritable
from yobx.cli.outcome import ExitCode
from yobx.errors import ArgumentError


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("folder", "A file is written, not a folder. Received: folder, given as --html."),
        ("gone/out", "No such folder: gone, given as --html."),
        ("file/out", "No such folder: file, given as --html."),
    ],
)
def test_what_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArgumentError) as caught:
        refuse_unwritable(Path(target), "html")
    assert str(caught.value) == message
    for good in ("file", "new"):
        refuse_unwritable(Path(good), "html")
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["infer", "junk.onnx", "-o"], "--output"),
        (["convert", "junk.keras", "-o"], "--output"),
        (["check", "junk.keras", "--json"], "--json"),
        (["check", "junk.keras", "--html"], "--html"),
    ],
)
def test_every_command_asks_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("junk.onnx", "junk.keras"):
        (tmp_path / name).write_bytes(bytes(range(1, 200)))
    assert main([*arguments, "gone/out", "-q"]) == ExitCode.USAGE
    assert capsys.readouterr().err == f"error: No such folder: gone, given as {said}.\n"
    assert main([*arguments, "out", "-q"]) == ExitCode.MODEL
