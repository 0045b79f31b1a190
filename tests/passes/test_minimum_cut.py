import itertools

import numpy as np
import pytest

from yobx.passes.minimum_cut import FlowNetwork


def test_cheapest_side_is_cut() -> None:
    network = FlowNetwork()
    a, b = network.add_node(), network.add_node()
    network.add_edge(FlowNetwork.SOURCE, a, 5)
    network.add_edge(a, b, 1)
    network.add_edge(b, FlowNetwork.SINK, 5)
    assert network.source_side() == {FlowNetwork.SOURCE, a}


def test_a_group_is_paid_once() -> None:
    network = FlowNetwork()
    nodes = [network.add_node() for _ in range(3)]
    for node in nodes[1:]:
        network.add_edge(node, FlowNetwork.SINK, 4)
    network.add_edge(FlowNetwork.SOURCE, nodes[0], 10)
    network.add_group(nodes, 5)
    side = network.source_side()
    assert nodes[0] in side
    assert not side & set(nodes[1:])


@pytest.mark.parametrize("seed", range(30))
def test_against_trying_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 6
    network = FlowNetwork()
    nodes = [FlowNetwork.SOURCE, FlowNetwork.SINK, *(network.add_node() for _ in range(count))]
    groups = []
    for _ in range(9):
        size = int(rng.integers(2, 5))
        members = sorted(int(m) for m in rng.choice(nodes, size, replace=False))
        cost = int(rng.integers(1, 10))
        if not {FlowNetwork.SOURCE, FlowNetwork.SINK} <= set(members):
            groups.append((members, cost))
            network.add_group(members, cost)

    def price(side: set[int]) -> int:
        return sum(
            cost for members, cost in groups if 0 < len(side & set(members)) < len(set(members))
        )

    best = min(
        price({FlowNetwork.SOURCE, *chosen})
        for size in range(count + 1)
        for chosen in itertools.combinations(nodes[2:], size)
    )
    assert price(network.source_side() & set(nodes)) == best
