"""The modules of the engine stand in layers."""

from __future__ import annotations

import ast
from pathlib import Path

import yobx.onnx_optim

FOLDER = Path(yobx.onnx_optim.__file__).parent


def test_no_import_inside_a_function_hides_a_circle() -> None:
    hidden = [
        f"{path.name}:{node.lineno} {node.module}"
        for path in FOLDER.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("yobx.onnx_optim")
    ]
    assert not hidden, hidden
