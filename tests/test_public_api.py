"""What is public is small, documented, and says where it belongs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re

import pytest

from tests.repository_rules import ROOT, Source, sources

PACKAGES = [
    "yobx",
    "yobx.errors",
    "yobx.jax",
    "yobx.lowering",
    "yobx.onnx_optim",
    "yobx.passes",
    "yobx.stablehlo",
    "yobx.tensorflow",
    "yobx.tensorflow.register",
    "yobx.tensorflow.tensorflow_helper",
    "yobx.verification",
    "yobx.xbuilder",
    "pytest_yobx",
]
PUBLIC_NAMES = 16
DOCUMENTED = 0.95


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_few_and_documented(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", []))
    assert len(names) <= PUBLIC_NAMES, names
    assert len(names) == len(set(names))
    bare = []
    for name in names:
        value = getattr(module, name)
        if callable(value) and not (inspect.getdoc(value) or "").strip():
            bare.append(name)
    assert not bare, f"{package}: no docstring on {bare}"


def test_every_public_package_has_a_page() -> None:
    pages = "\n".join(
        page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference/api").glob("*.md")
    )
    shown = set(re.findall(r"automodule:: (\S+)", pages))
    assert set(PACKAGES) - {"yobx"} <= shown


def _public(source: Source) -> list[tuple[str, bool]]:
    """Public functions, classes and methods of a module, and whether each has a docstring."""
    found: list[tuple[str, bool]] = []

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            if node.name.startswith("_"):
                continue
            label = f"{source.name}:{node.lineno} {prefix}{node.name}"
            found.append((label, ast.get_docstring(node) is not None))
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{node.name}.")

    visit(source.tree().body, "")
    return found


def test_public_functions_have_docstrings() -> None:
    everything = [entry for source in sources() for entry in _public(source)]
    bare = [label for label, documented in everything if not documented]
    share = 1 - len(bare) / max(1, len(everything))
    assert share >= DOCUMENTED, f"{share:.1%} documented\n" + "\n".join(bare)


def test_modules_have_docstrings() -> None:
    bare = [source.name for source in sources() if ast.get_docstring(source.tree()) is None]
    assert not bare


def test_public_functions_are_annotated() -> None:
    bare = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in sources()
        for node in ast.walk(source.tree())
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is None
    ]
    assert not bare, "\n".join(bare)


def test_there_is_nothing_else_to_import_from_the_root() -> None:
    module = importlib.import_module("yobx")
    assert module.__all__ == ["__version__"]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{module.__version__}"' in text
