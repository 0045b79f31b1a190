"""Every registered op type has a case, for each dtype declared and each value of an attribute."""

from __future__ import annotations

from collections import defaultdict

import pytest

from conformance.tf_ops import SUBJECTS, subject_cases
from conformance.tf_ops.attributes import CHOICES, IRRELEVANT, RELEVANT, Value, missing
from conformance.tf_ops.contents import Content, content_of
from conformance.tf_ops.declared import required
from conformance.tf_ops.variations import NOT_RUN
from yobx.tensorflow.ops import register
from yobx.tensorflow.register import get_tf_op_registrations

register()
#: Run by tests that are no cases.
ELSEWHERE = {"XlaCallModule": "JAX functions: ops/test_xla_call_module.py"}
OP_TYPES = sorted(set(get_tf_op_registrations()) - set(ELSEWHERE))


@pytest.fixture(scope="module")
def exercised() -> Content:
    """Return what occurs in the cases."""
    found = Content(defaultdict(set), defaultdict(set))
    for case in (case for subject in SUBJECTS for case in subject_cases(subject)):
        found.add(content_of(case))
    return found


@pytest.mark.parametrize("op_type", OP_TYPES)
def test_op_type_has_cases(op_type: str, exercised: Content) -> None:
    assert op_type in exercised.dtypes, f"no case has {op_type}"
    lacking = sorted(required(op_type) - exercised.dtypes[op_type])
    assert not lacking, f"{op_type}: declared, but no case: {lacking}"


@pytest.mark.parametrize("op_type", OP_TYPES)
def test_attributes_have_cases(op_type: str, exercised: Content) -> None:
    given: set[Value] = exercised.values[op_type] | NOT_RUN[op_type]
    assert not missing(op_type, given), f"{op_type}: no case: {missing(op_type, given)}"


def test_exceptions_are_registered() -> None:
    assert set(ELSEWHERE) <= set(get_tf_op_registrations())


def test_names_of_attributes_are_real() -> None:
    from tensorflow.python.framework import op_def_registry

    known = {
        label
        for op_type in get_tf_op_registrations()
        for attribute in op_def_registry.get(op_type).attr
        for label in (attribute.name, f"{op_type}.{attribute.name}")
    }
    assert {*IRRELEVANT, *RELEVANT, *CHOICES} <= known


def test_case_names_are_unique() -> None:
    for subject in SUBJECTS:
        names = [case.name for case in subject_cases(subject)]
        assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)
