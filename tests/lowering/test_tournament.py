"""Every pair of columns meets once in a round, with a size known while building or at run time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import onnxruntime
import pytest

from yobx.lowering.tournament import meeting, tournament
from yobx.xbuilder import GraphBuilder


def turns(n: int, *, known: bool) -> list[list[np.ndarray]]:
    """Partners, signs and pairs of each turn of a round."""
    g = GraphBuilder(21)
    g.make_tensor_input("turn", np.int64, ())
    g.make_tensor_input("n", np.int64, ())
    plan = tournament(g, n if known else "n")
    for name, value in zip(("partner", "sign", "pairs"), meeting(g, "turn", plan), strict=True):
        g.make_tensor_output(name, source=value)
    count = plan.rounds(g, 1)
    count = g.make_initializer(None, np.array(count)) if isinstance(count, int) else count
    g.make_tensor_output("count", source=count)
    session = onnxruntime.InferenceSession(
        g.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )

    def one(turn: int) -> list[np.ndarray]:
        return session.run(None, {"turn": np.array(turn), "n": np.array(n)})

    first = one(0)
    return [one(turn)[:3] for turn in range(int(first[3]))]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11, 16])
def test_each_pair_once(n: int, known: bool) -> None:
    met = []
    for partner, sign, pairs in turns(n, known=known):
        np.testing.assert_array_equal(partner[partner], np.arange(n))
        np.testing.assert_array_equal(sign, np.sign(partner - np.arange(n)))
        np.testing.assert_array_equal(pairs, np.eye(n)[partner])
        met += [(i, int(p)) for i, p in enumerate(partner) if i < p]
    assert sorted(met) == list(combinations(range(n), 2))
