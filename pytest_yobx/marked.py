"""What the marker ``yobx`` makes of a test.

On a function of its own: the function returns a model, which is checked. On a class or a module:
the tests inside get its options, and those of them that return something return a model; a test
that returns nothing is an ordinary test. A test that uses a fixture which checks keeps its meaning
in both cases: the marker holds its options.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

__all__ = ["FIXTURES", "is_marked", "is_model_function", "unusable"]

FIXTURES = frozenset({"assert_converts", "yobx_convert", "assert_shapes"})
_MARKER = "yobx"


def is_marked(target: Any) -> bool:
    """Whether a function wears the marker itself, and asks for no fixture that checks."""
    marks = getattr(target, "pytestmark", [])
    marks = marks if isinstance(marks, list) else [marks]
    if isinstance(target, type) or not callable(target) or not hasattr(target, "__code__"):
        return False
    code = target.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any(getattr(m, "name", "") == _MARKER for m in marks) and not FIXTURES & set(names)


def is_model_function(item: pytest.Item) -> bool:
    """Whether a test returns a model to check, instead of using our fixtures."""
    if not isinstance(item, pytest.Function) or FIXTURES & set(item.fixturenames):
        return False
    if any(mark.name == _MARKER for mark in item.own_markers):
        return True
    return item.get_closest_marker(_MARKER) is not None and _returns_value(item.function)


def unusable(item: pytest.Item) -> str:
    """Why a test that is to return a model cannot, or ``""``."""
    if not is_model_function(item) or not isinstance(item, pytest.Function):
        return ""
    function = inspect.unwrap(item.function)
    if _is_unittest(item):
        return (
            "is a method of unittest.TestCase, whose result pytest does not see: write a function, "
            "or call assert_converts in it"
        )
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "is async: a function marked yobx returns its model when it is called"
    return ""


def _is_unittest(item: pytest.Function) -> bool:
    import unittest

    return isinstance(item.cls, type) and issubclass(item.cls, unittest.TestCase)


def _returns_value(function: Callable[..., Any]) -> bool:
    """Whether a function has a ``return`` of something, in its own body."""
    function = inspect.unwrap(function)
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # made at run time: an ordinary test
        return False
    found = [node.value for top in tree.body for node in _own(top) if isinstance(node, ast.Return)]
    return any(
        value is not None and not (isinstance(value, ast.Constant) and value.value is None)
        for value in found
    )


def _own(top: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and classes in it."""
    pending = list(ast.iter_child_nodes(top))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
