"""What the repository-wide tests read: source files, their syntax trees, their imports."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("yobx", "pytest_yobx", "conformance")
BROAD = {"Exception", "BaseException"}


@dataclass(frozen=True)
class Source:
    """One module of the distributed packages."""

    path: Path

    @property
    def name(self) -> str:
        """Path from the repository root, with forward slashes."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def module(self) -> str:
        """Dotted name under which Python imports the file."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def text(self) -> str:
        """Content of the file."""
        return self.path.read_text(encoding="utf-8")

    def tree(self) -> ast.Module:
        """Syntax tree of the file."""
        return parse(self.path)


@dataclass(frozen=True)
class Import:
    """One imported module: its absolute name and whether it is loaded with the importing module."""

    source: Source
    target: str
    line: int
    at_import: bool

    def __str__(self) -> str:
        """Name the place the way editors open it."""
        return f"{self.source.name}:{self.line} imports {self.target}"


@cache
def parse(path: Path) -> ast.Module:
    """Parse a file once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file of the distributed packages."""
    return tuple(
        Source(path) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    )


@cache
def tracked() -> tuple[Path, ...]:
    """Every file under version control that exists in the working tree."""
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    paths = (ROOT / name for name in listing.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods of a tree, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of an attribute chain, ``""`` for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def caught(node: ast.AST) -> set[str]:
    """Names of the exception classes that a handler or ``contextlib.suppress`` catches.

    A bare handler catches ``Exception``, any other node nothing.
    """
    elements: list[ast.expr] = []
    if isinstance(node, ast.ExceptHandler):
        if node.type is None:
            return {"Exception"}
        elements = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    elif isinstance(node, ast.Call) and dotted(node.func) in {"contextlib.suppress", "suppress"}:
        elements = node.args
    return {dotted(element).rpartition(".")[2] for element in elements}


def imports(source: Source) -> Iterator[Import]:
    """Every import of a module; the ones only a type checker reads are left out."""
    yield from _imports(source, source.tree().body, at_import=True)


def _imports(source: Source, body: list[ast.stmt], *, at_import: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(source, alias.name, node.lineno, at_import)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(source, node)
            for alias in node.names:
                yield Import(source, f"{base}.{alias.name}", node.lineno, at_import)
        elif isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            yield from _imports(source, node.orelse, at_import=at_import)
        else:
            inner = at_import and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for block in ("body", "orelse", "finalbody"):
                yield from _imports(source, getattr(node, block, []), at_import=inner)
            for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                yield from _imports(source, part.body, at_import=inner)


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = source.module.split(".")
    if source.path.name != "__init__.py":
        package = package[:-1]
    package = package[: len(package) - (node.level - 1)]
    return ".".join([*package, *([node.module] if node.module else [])])
