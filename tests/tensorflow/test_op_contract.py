"""Every registered op type has a case, and one for every dtype that its converter declares."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tests.tensorflow.ops as cases_package
from tests.tensorflow.ops.declared import Pair, required, shown
from tests.tensorflow.ops.op_cases import STATIC, Case
from yobx.tensorflow.ops import register
from yobx.tensorflow.register import get_tf_op_registrations

register()
#: Run by tests that are no cases.
ELSEWHERE = {"XlaCallModule": "JAX functions: ops/test_xla_call_module.py"}


def _cases() -> list[Case]:
    """Return the cases that the tests beside are parametrised with."""
    found = []
    for path in sorted(Path(next(iter(cases_package.__path__))).glob("test_*.py")):
        module = import_module(f"{cases_package.__name__}.{path.stem}")
        for member in vars(module).values():
            for mark in getattr(member, "pytestmark", []):
                if mark.name == "parametrize":
                    found += [value for value in mark.args[1] if isinstance(value, Case)]
    return found


def _graph(case: Case) -> Any:
    sizes = {**STATIC, **case.bindings[0]}
    specs = [
        tf.TensorSpec([sizes[d] if isinstance(d, str) else d for d in a.shape], a.dtype)
        for a in case.args
    ]
    traced = tf.function(case.function, autograph=case.autograph).get_concrete_function(*specs)
    return traced.graph.as_graph_def()


@pytest.fixture(scope="module")
def exercised() -> dict[str, set[Pair]]:
    """Return for every op type that occurs in a case the pairs it occurs with."""
    found: dict[str, set[Pair]] = defaultdict(set)
    for case in _cases():
        graph = _graph(case)
        for nodes in (graph.node, *(f.node_def for f in graph.library.function)):
            for op_type, pair in shown(nodes):
                found[op_type] |= {pair} if pair is not None else set()
    return found


@pytest.mark.parametrize("op_type", sorted(set(get_tf_op_registrations()) - set(ELSEWHERE)))
def test_op_type_has_cases(op_type: str, exercised: dict[str, set[Pair]]) -> None:
    assert op_type in exercised, f"no case has {op_type}"
    missing = sorted(required(op_type) - exercised[op_type])
    assert not missing, f"{op_type}: declared, but no case: {missing}"


def test_exceptions_are_registered() -> None:
    assert set(ELSEWHERE) <= set(get_tf_op_registrations())
