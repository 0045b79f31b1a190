"""Minimum cut of a small directed graph, by shortest augmenting paths."""

from __future__ import annotations

from collections import deque

__all__ = ["INFINITE", "FlowNetwork"]

INFINITE = 1 << 60


class FlowNetwork:
    """A directed graph with capacities; node 0 is the source, node 1 the sink.

    Edges are stored in pairs: edge ``i ^ 1`` is the reverse of edge ``i``.
    """

    SOURCE = 0
    SINK = 1

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        self._target: list[int] = []
        self._capacity: list[int] = []

    def add_node(self) -> int:
        """Adds a node and returns its number."""
        self._edges.append([])
        return len(self._edges) - 1

    def add_edge(self, start: int, end: int, capacity: int) -> None:
        """Adds an edge.

        Args:
            start: Node it leaves.
            end: Node it enters.
            capacity: What cutting it costs.
        """
        self._edges[start].append(len(self._target))
        self._target.append(end)
        self._capacity.append(capacity)
        self._edges[end].append(len(self._target))
        self._target.append(start)
        self._capacity.append(0)

    def add_group(self, members: list[int], cost: int) -> None:
        """Makes it cost something, once, when the members are not all on one side.

        Args:
            members: Nodes.
            cost: Price of separating them.
        """
        if len(members) == 2:
            self.add_edge(members[0], members[1], cost)
            self.add_edge(members[1], members[0], cost)
            return
        first, second = self.add_node(), self.add_node()
        self.add_edge(first, second, cost)
        for member in members:
            self.add_edge(member, first, INFINITE)
            self.add_edge(second, member, INFINITE)

    def source_side(self) -> set[int]:
        """Finds a cheapest cut.

        Returns:
            The nodes on the source's side, the smallest such set.
        """
        while True:
            parents = self._search()
            if self.SINK not in parents:
                return set(parents)
            self._augment(parents)

    def _search(self) -> dict[int, int]:
        """Breadth first search for unused capacity; node -> edge it was reached by."""
        parents = {self.SOURCE: -1}
        queue = deque([self.SOURCE])
        target, capacity = self._target, self._capacity
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                end = target[edge]
                if capacity[edge] > 0 and end not in parents:
                    parents[end] = edge
                    if end == self.SINK:
                        return parents
                    queue.append(end)
        return parents

    def _augment(self, parents: dict[int, int]) -> None:
        path = []
        node = self.SINK
        while node != self.SOURCE:
            edge = parents[node]
            path.append(edge)
            node = self._target[edge ^ 1]
        room = min(self._capacity[edge] for edge in path)
        for edge in path:
            self._capacity[edge] -= room
            self._capacity[edge ^ 1] += room
