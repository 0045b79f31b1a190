"""The documentation tells the truth: blocks run in order, commands are the ones of CI."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.repository_rules import ROOT
from yobx.__main__ import main

FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts and "generated" not in page.parts]
#: Pages whose blocks run, and the fewest blocks and command lines that each has.
EXECUTED = {
    "README.md": 5,
    "docs/tutorial/first_model.md": 5,
    "docs/how-to/dynamic_axes.md": 5,
    "docs/how-to/large_models.md": 3,
    "docs/how-to/add_an_operation.md": 4,
    "docs/explanation/checking.md": 1,
}


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _blocks(page: Path) -> Iterator[tuple[str, str]]:
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        indent, language, text = match.groups()
        yield language, "".join(line.removeprefix(indent) for line in text.splitlines(True))


@pytest.mark.parametrize("name", EXECUTED)
def test_blocks_run_in_order(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "readme"}
    page, ran = ROOT / name, 0
    for language, text in _blocks(page):
        if language == "python":
            exec(compile(text, f"<{page.name}>", "exec"), namespace)
            ran += 1
        elif language == "console":
            for line in text.splitlines():
                if line.startswith("yobx "):
                    code = main(shlex.split(line)[1:])
                    assert code == 0, f"{line}\n{capsys.readouterr()}"
                    ran += 1
    assert ran >= EXECUTED[name]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_python_blocks_parse(page: Path) -> None:
    for language, text in _blocks(page):
        if language == "python":
            ast.parse(text, filename=page.name)
        elif language == "toml":
            tomllib.loads(text)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8"))
    generated = ("examples/generated",)
    missing = [
        link
        for link in links
        if not (page.parent / link).exists() and not link.startswith(generated)
    ]
    assert not missing


def test_ci_runs_the_commands_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for marker in ("tests", "main job"):
        command = subprocess.run(
            ["sed", "-n", f"/^<!-- command: {marker} -->$/{{n;n;p}}", "README.md"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        assert command.startswith("python3 -m venv .venv && "), marker
        assert "\n" not in command
        assert re.search(rf"readme_command '?{marker}'?", script)


def test_lower_bounds_can_be_read(tmp_path: Path) -> None:
    target = tmp_path / "lowest.txt"
    subprocess.run(
        ["python3", str(ROOT / ".ci" / "lowest.py"), str(target)], check=True, capture_output=True
    )
    bounds = dict(line.split("==") for line in target.read_text().splitlines())
    assert {"onnx", "numpy", "tensorflow", "jax", "onnxruntime", "pytest"} <= set(bounds)


def test_the_operation_of_contributing_works(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np
    import tensorflow as tf

    from yobx.tensorflow import register as registry
    from yobx.tensorflow.ops import register
    from yobx.verification import check_conversion

    register()
    for table in (registry.TF_OP_CONVERTERS, registry._REGISTRATIONS):
        monkeypatch.delitem(table, "Softsign")
    (code,) = (text for kind, text in _blocks(ROOT / "CONTRIBUTING.md") if kind == "python")
    assert len(code.splitlines()) <= 20
    namespace: dict[str, Any] = {"__name__": "contributing"}
    exec(compile(code, "<CONTRIBUTING.md>", "exec"), namespace)
    assert registry.get_tf_op_converter("Softsign") is namespace["convert_softsign"]
    for dtype in sorted(registry.get_tf_op_registrations()["Softsign"].dtypes or ()):
        x = np.linspace(-4, 4, 12).reshape(3, 4).astype(dtype)
        check_conversion(tf.function(tf.nn.softsign), (x,)).raise_if_failed()
