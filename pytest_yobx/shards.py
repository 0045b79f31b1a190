"""Parts of a run for several machines, and the list of who attended.

Every part collects everything and keeps its share. A model stays whole, so that it is converted
once; shares are balanced by the durations of a baseline where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Attendance", "shares"]


@dataclass
class Attendance:
    """Which checks there are, and which of them this run must make.

    Attributes:
        planned: Node ids of all checks of the selection.
        assigned: Those of this part.
        shard: Part and number of parts, or ``None`` for the whole.
    """

    planned: list[str] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    shard: tuple[int, int] | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attendance:
        """The list as another process wrote it."""
        shard = tuple(data["shard"]) if data["shard"] else None
        return cls(list(data["planned"]), list(data["assigned"]), shard)

    def missing(self, attended: Mapping[str, object]) -> list[str]:
        """Checks that were to be made and have no result."""
        return [nodeid for nodeid in self.assigned if nodeid not in attended]


def shares(nodeids: Sequence[str], count: int, seconds: Mapping[str, float]) -> list[set[str]]:
    """Divides tests into parts.

    Args:
        nodeids: All of them.
        count: Number of parts.
        seconds: Known durations; a test without one counts a second.

    Returns:
        The tests of each part. The same arguments give the same parts on every machine.
    """
    groups: dict[str, list[str]] = {}
    for nodeid in nodeids:
        groups.setdefault(nodeid.partition("[")[0], []).append(nodeid)
    weights = {name: sum(seconds.get(n, 1.0) for n in group) for name, group in groups.items()}
    parts: list[set[str]] = [set() for _ in range(count)]
    loads = [0.0] * count
    for name in sorted(groups, key=lambda name: (-weights[name], name)):
        lightest = loads.index(min(loads))
        parts[lightest].update(groups[name])
        loads[lightest] += weights[name]
    return parts
