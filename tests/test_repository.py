"""Laws of the whole repository. A list of exceptions below may shrink; it never grows."""

from __future__ import annotations

import ast
import re

import pytest

from tests.repository_rules import (
    BROAD,
    PACKAGES,
    ROOT,
    Source,
    caught,
    dotted,
    functions,
    sources,
    tracked,
)

MODULE_LINES = 600
FUNCTION_LINES = 100
VISIBLE_ENTRIES = 15
WORKFLOWS = 5

# A file that may break a law, and why.
EXCUSED: dict[str, str] = {}


def _report(found: list[str]) -> None:
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_module_is_one_idea(source: Source) -> None:
    lines = source.text.count("\n")
    assert lines <= MODULE_LINES or source.name in EXCUSED, f"{source.name} has {lines} lines"


def test_functions_are_short() -> None:
    _report(
        [
            f"{source.name}:{node.lineno} {node.name} has {length} lines"
            for source in sources()
            for node in functions(source.tree())
            if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
        ]
    )


def test_no_broad_except() -> None:
    _report(
        [
            f"{source.name}:{node.lineno} catches everything"
            for source in sources()
            for node in ast.walk(source.tree())
            if caught(node) & BROAD
        ]
    )


def test_no_assert_in_source() -> None:
    _report(
        [
            f"{source.name}:{node.lineno} validates by assert, which python -O removes"
            for source in sources()
            for node in ast.walk(source.tree())
            if isinstance(node, ast.Assert)
        ]
    )


def test_no_environment_reads() -> None:
    names = {"os.environ", "os.getenv", "environ", "getenv", "os.putenv"}
    _report(
        [
            f"{source.name}:{node.lineno} uses {dotted(node)}"
            for source in sources()
            for node in ast.walk(source.tree())
            if isinstance(node, (ast.Attribute, ast.Name)) and dotted(node) in names
        ]
    )


def test_no_print() -> None:
    _report(
        [
            f"{source.name}:{node.lineno} prints"
            for source in sources()
            for node in ast.walk(source.tree())
            if isinstance(node, ast.Call) and dotted(node.func) in {"print", "builtins.print"}
        ]
    )


def test_every_todo_has_a_link() -> None:
    words = re.compile(
        r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b(?!\(http)"
    )
    _report(
        [
            f"{path.relative_to(ROOT)}:{number} {line.strip()}"
            for path in tracked()
            if path.suffix in {".py", ".md", ".toml", ".ini", ".yml"}
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if words.search(line)
        ]
    )


def test_no_machine_paths() -> None:
    folders = "|".join(["ho" + "me", "ro" + "ot", "wo" + "rk", "Us" + "ers"])
    pattern = re.compile(rf"(?<![\w.:/-])/({folders})/\w|[A-Z]:\\Users")
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a binary file
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}")
    _report(found)


def test_top_folder_stays_small() -> None:
    visible = {path.relative_to(ROOT).parts[0] for path in tracked()}
    visible = {name for name in visible if not name.startswith(".")}
    assert len(visible) <= VISIBLE_ENTRIES, sorted(visible)


def test_workflows_stay_few() -> None:
    workflows = list((ROOT / ".github" / "workflows").glob("*"))
    assert 1 <= len(workflows) <= WORKFLOWS, workflows


def test_contributing_names_every_folder() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = {path.relative_to(ROOT).parts[0] for path in tracked() if path.parent != ROOT}
    rooms = {source.module.split(".")[1] for source in sources() if source.module.count(".") > 1}
    expected = {f"`{name}/`" for name in folders}
    expected |= {f"`yobx/{name}/`" for name in rooms if (ROOT / "yobx" / name).is_dir()}
    _report(
        [
            f"CONTRIBUTING.md does not mention {name}"
            for name in sorted(expected)
            if name not in text
        ]
    )


def test_packages_are_typed() -> None:
    _report(
        [
            f"{name}/py.typed is missing"
            for name in PACKAGES
            if not (ROOT / name / "py.typed").exists()
        ]
    )


def _has_tests(source: Source) -> bool:
    """Whether ``tests/`` mirrors a module, by a file or a folder of its own."""
    parts = source.path.relative_to(ROOT).with_suffix("").parts
    inner = parts[1:] if parts[0] == "yobx" else parts
    folder = ROOT.joinpath("tests", *inner[:-1])
    stem = inner[-1].lstrip("_")
    return any(folder.glob(f"test_{stem}*.py")) or (folder / stem).is_dir()


@pytest.mark.parametrize("room", ["cli"])
def test_tests_mirror_the_tree(room: str) -> None:
    _report(
        [
            f"{source.name} has no test file of its own"
            for source in sources()
            if source.name.startswith(f"yobx/{room}/")
            and source.path.name != "__init__.py"
            and not _has_tests(source)
        ]
    )
