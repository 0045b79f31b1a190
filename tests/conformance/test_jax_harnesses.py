"""How a case of JAX is made symbolic, and what is JAX's when it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from conformance.cells import Verdict
from conformance.jax_harnesses import check


@dataclass
class _Harness:
    """As much of JAX's class as is needed."""

    dyn_fun: Any
    shapes: tuple[tuple[int, ...], ...]
    fullname: str = "case"
    group_name: str = "group"
    params: dict[str, Any] = field(default_factory=dict)

    def dyn_args_maker(self, rng: np.random.RandomState) -> list[Any]:
        """Arguments of these shapes."""
        return [np.asarray(rng.rand(*shape), np.float32) for shape in self.shapes]


@pytest.mark.parametrize(
    ("function", "shapes", "verdict"),
    [
        (lambda x, y: x + y, ((3, 2), (3, 2)), Verdict.PASS),
        # the first array alone, since the other one is as long as the third
        (lambda x, y, z: (x * 2, y + z), ((2, 3), (2,), (1,)), Verdict.PASS),
        (lambda x, y: (x * 2, y[0] + y[1]), ((2,), (2,)), Verdict.PASS),
        # the last axis alone
        (lambda x: x[:2] + jnp.broadcast_to(x[1], (2, x.shape[1])), ((2, 3),), Verdict.PASS),
        # both axes, or nothing
        (lambda x: x + x.T, ((3, 3),), Verdict.PASS),
        (lambda x: x.reshape(5), ((5,),), Verdict.SOURCE),
        (lambda x: x + 1, ((),), Verdict.SOURCE),
    ],
    ids=["first", "alone", "one", "last", "both", "none", "scalar"],
)
def test_a_size_is_symbolic_with_which_jax_exports_the_case(
    function: Any, shapes: tuple[tuple[int, ...], ...], verdict: Verdict
) -> None:
    cell = check(_Harness(function, shapes), symbolic=True)
    assert cell.verdict is verdict, cell.message
    assert cell.name == "jax-symbolic/case"


def test_names_tell_how_a_case_was_run() -> None:
    harness = _Harness(lambda x: x + 1, ((2,),))
    assert check(harness).name == "jax/case"
    assert check(harness, x64=True).name == "jax-x64/case"
