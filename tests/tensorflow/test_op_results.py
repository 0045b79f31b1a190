"""What checks of single operations found is of the operations that are registered."""

from __future__ import annotations

import pytest

from conformance.tf_ops.declared import required
from tests.tensorflow.test_op_contract import OP_TYPES
from yobx.tensorflow.op_results import load_op_results


def test_results_are_of_these_op_types() -> None:
    """``python -m conformance tf-ops --write`` renews them."""
    results = load_op_results().ops
    assert sorted(set(OP_TYPES) - set(results)) == []
    assert sorted(set(results) - set(OP_TYPES)) == []
    assert [name for name, result in results.items() if not any(result.passed.values())] == []


@pytest.mark.parametrize("op_type", OP_TYPES)
def test_declared_dtypes_passed(op_type: str) -> None:
    lacking = {dtype for _, dtype in required(op_type)} - set(load_op_results().ops[op_type].dtypes)
    assert not lacking, f"{op_type}: declared, but no check passed: {sorted(lacking)}"
