import pytest

from tests.passes.random_networks import random_network
from tests.passes.support import apply, kinds
from yobx.passes import default_passes
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.layout import optimize_layout


@pytest.mark.parametrize("seed", range(40))
def test_layout_alone(seed: int) -> None:
    before = random_network(seed)
    after = apply(before, optimize_layout, remove_dead_code, rtol=1e-4)
    assert kinds(after).get("Transpose", 0) <= kinds(before).get("Transpose", 0)


@pytest.mark.parametrize("seed", range(40))
def test_all_passes(seed: int) -> None:
    before = random_network(seed)
    after = apply(before, *default_passes(), rtol=1e-4)
    assert len(after.graph.node) <= len(before.graph.node)
