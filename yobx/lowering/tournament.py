"""Pairs of columns, all of which meet once in a round, as in a round-robin tournament.

With an odd number of columns, column ``i`` meets column ``t - i`` (modulo that number) in turn
``t``, and one is idle. With an even number the last column stays out of this and meets the idle
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .factorise import Size, numbered, unsqueezed

__all__ = ["Tournament", "meeting", "tournament"]

_ONE = np.array(1)


@dataclass(frozen=True)
class Tournament:
    """All turns of a round.

    Attributes:
        size: Number of columns.
        columns: Their numbers: an array, or a name.
        unit: Unit matrix, float64: an array, or a name.
        outside: 1 off the diagonal, 0 on it.
        turns: Number of turns in a round.
        partners: For each turn and column the column it meets, itself if none; ``None`` if the size
            is known at run time only.
    """

    size: Size
    columns: Any
    unit: Any
    outside: Any
    turns: Size
    partners: np.ndarray[Any, Any] | None

    def rounds(self, g: GraphBuilder, count: int) -> Size:
        """Number of turns in so many rounds."""
        if isinstance(self.turns, int):
            return count * self.turns
        return str(g.op.Mul(self.turns, np.array(count)))


def tournament(g: GraphBuilder, n: Size) -> Tournament:
    """Plan a round of ``n`` columns, at least 1 if that is a number.

    Args:
        g: The builder.
        n: Number of columns.
    """
    columns = numbered(g, n)
    if isinstance(n, int):
        partners = _partners(n)
        return Tournament(n, columns, np.eye(n), 1.0 - np.eye(n), len(partners), partners)
    same = g.op.Equal(unsqueezed(g, columns, -1), columns)
    unit = cast(g, str(same), np.float64)
    turns = str(g.op.Max(_odd(g, n), _ONE))
    return Tournament(n, columns, unit, g.op.Sub(np.array(1.0), unit), turns, None)


def _odd(g: GraphBuilder, n: str) -> str:
    """The largest odd number that is not above ``n``."""
    return str(g.op.Add(g.op.Sub(n, _ONE), g.op.Mod(n, np.array(2))))


def _partners(n: int) -> np.ndarray[Any, Any]:
    cycle = max(n - 1 + n % 2, 1)
    columns, turns = np.arange(n), np.arange(cycle)[:, None]
    partner = (turns - columns) % cycle
    if n % 2:
        return partner
    partner = np.where(partner == columns, n - 1, partner)
    partner[:, n - 1] = turns[:, 0] * (n // 2) % cycle
    return partner


def meeting(b: GraphBuilder, turn: str, plan: Tournament) -> tuple[str, str, str]:
    """Who meets in a turn.

    Args:
        b: The graph.
        turn: Number of the turn, any round, int64 scalar.
        plan: The round.

    Returns:
        The column that each one meets, `(n,)`; 1, -1 or 0 for the first, the second of a pair, and
        for none, `(n,)`; the matrix with 1 where two columns meet.
    """
    if plan.partners is not None:
        row = b.op.Mod(turn, np.array(plan.turns))
        partner = b.op.Gather(plan.partners, row, axis=0)
        signs = np.sign(plan.partners - np.arange(plan.size)).astype(np.float64)
        sign = b.op.Gather(signs, row, axis=0)
    else:
        partner = _partner(b, turn, plan)
        sign = cast(b, b.op.Sign(b.op.Sub(partner, plan.columns)), np.float64)
    pairs = b.op.Equal(b.op.Unsqueeze(partner, np.array([-1])), plan.columns)
    return str(partner), str(sign), cast(b, str(pairs), np.float64)


def _partner(b: GraphBuilder, turn: str, plan: Tournament) -> str:
    n, cycle, columns = plan.size, plan.turns, plan.columns
    partner = b.op.Mod(b.op.Sub(turn, columns), cycle)
    last = b.op.Sub(n, _ONE)
    half = b.op.Mod(b.op.Mul(b.op.Mod(turn, cycle), b.op.Div(n, np.array(2))), cycle)
    even = b.op.Where(b.op.Equal(partner, columns), last, partner)
    even = b.op.Where(b.op.Equal(columns, last), half, even)
    return str(b.op.Where(b.op.Equal(cycle, n), partner, even))
