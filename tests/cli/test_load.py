"""What ``MODEL`` may name, and what is said when it names nothing."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from yobx.cli.load import find_attribute, interpret, is_factory, load, refuse_module
from yobx.errors import ArgumentError

MODULE = """
def double(x):
    return 2 * x

def factory():
    return double, (1,), {"target_opset": 20}

def only_model():
    return double

def wrong():
    return double, 1

class Group:
    inner = staticmethod(double)

class Built:
    def __init__(self, size=3):
        self.size = size
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "cli_example_models.py"
    path.write_text(MODULE)
    yield path
    sys.modules.pop(path.stem, None)


@pytest.mark.parametrize("prefix", ["cli_example_models", "cli_example_models.py"])
def test_attribute_of_a_module_in_the_current_folder(module: Path, prefix: str) -> None:
    assert load(f"{prefix}:double").model(4) == 8
    assert load(f"{prefix}:Group.inner").model(4) == 8
    assert load(f"{prefix}:Built").model.size == 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: 1, True),
        (lambda x=1: x, True),
        (lambda x: x, False),
        (lambda *xs: xs, False),
        (lambda *, x: x, False),
        (dict, False),
        (Path, True),
        (pytest.MonkeyPatch, True),
        (len, False),
    ],
)
def test_what_is_a_factory(value: object, expected: bool) -> None:
    assert is_factory(value) is expected


@pytest.mark.parametrize("value", [None, (), (1,), (1, 2), (1, (), 3), (1, (), {}, 4)])
def test_what_a_factory_must_not_return(value: object) -> None:
    with pytest.raises(ArgumentError, match=r"Received: (nothing )?\(.*\) from zoo:build"):
        interpret(value, "zoo:build")


def test_a_factory_without_a_return() -> None:
    with pytest.raises(ArgumentError, match=r"Received: nothing \(None\) from zoo:build"):
        interpret(None, "zoo:build")


def test_factory(module: Path) -> None:
    loaded = load("cli_example_models:factory")
    assert (loaded.args, loaded.options) == ((1,), {"target_opset": 20})
    assert load("cli_example_models:only_model").args is None


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (":double", "MODEL is a .keras or .h5 file"),
        ("cli_example_models.py", "Try cli_example_models.py:model"),
        ("missing.py:model", "No such file"),
        ("cli_example_models:absent", "no attribute 'absent'"),
        ("cli_example_models:wrong", "(model, args, options)"),
    ],
)
def test_wrong_targets(module: Path, target: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        load(target)
    assert message in str(caught.value)


@pytest.mark.parametrize("target", ["model.keras", "folder", "missing"])
def test_paths_are_left_to_the_converter(module: Path, target: str) -> None:
    assert load(target).model == target
    with pytest.raises(ArgumentError, match=r"--jax takes module:function.*does not exist"):
        load(target, is_jax=True)


def test_an_exception_of_the_users_module_is_not_hidden(module: Path) -> None:
    module.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        load("cli_example_models:double")


def test_a_name_that_does_not_exist_ends_in_one_that_does() -> None:
    module = types.ModuleType("zoo")
    exec(MODULE, module.__dict__)
    with pytest.raises(ArgumentError, match=r"zoo has no attribute 'factroy'.*mean 'factory'\?$"):
        find_attribute(module, "factroy", "zoo:factroy")
    with pytest.raises(ArgumentError, match=r"'zzz', given as 'zoo:zzz'. It has: double, factory"):
        find_attribute(module, "zzz", "zoo:zzz")


def test_a_module_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bare_zoo.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ArgumentError, match=r"Try bare_zoo:NAME. It has: double, factory, "):
        refuse_module("bare_zoo")
    refuse_module("no_module_of_that_name")
    refuse_module("model.keras.zip")
    del sys.modules["bare_zoo"]
