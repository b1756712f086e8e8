"""The cheapest cut of a graph between a source and a sink, by Dinic's algorithm."""

from __future__ import annotations

import math
from collections import deque


class FlowGraph:
    """A directed graph with capacities, whose nodes are numbers.  Nodes SOURCE and SINK are there from the start."""

    SOURCE, SINK = 0, 1

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        self._head: list[int] = []
        self._room: list[float] = []

    def node(self) -> int:
        """Add a node and return its number."""
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, tail: int, head: int, capacity: float) -> None:
        """Add an edge: the capacity, which may be infinite, is what cutting it costs."""
        for start, end, room in ((tail, head, capacity), (head, tail, 0.0)):
            self._edges[start].append(len(self._head))
            self._head.append(end)
            self._room.append(room)

    def source_side(self) -> set[int]:
        """Return the nodes on the source's side of the cheapest cut.  Raises ValueError where every cut costs infinitely much."""
        while True:
            levels = self._levels()
            if levels[self.SINK] < 0:
                return {node for node, level in enumerate(levels) if level >= 0}
            self._push(levels)

    def _levels(self) -> list[int]:
        """Distances from the source along edges with room; -1 where there is no way."""
        levels = [-1] * len(self._edges)
        levels[self.SOURCE] = 0
        pending = deque([self.SOURCE])
        while pending:
            node = pending.popleft()
            for edge in self._edges[node]:
                head = self._head[edge]
                if self._room[edge] > 0 and levels[head] < 0:
                    levels[head] = levels[node] + 1
                    pending.append(head)
        return levels

    def _push(self, levels: list[int]) -> None:
        """Fill the ways that go up one level with each edge."""
        following = [0] * len(levels)
        path: list[int] = []
        node = self.SOURCE
        while True:
            if node == self.SINK:
                self._fill(path)
                node, path = self.SOURCE, []
                continue
            edges = self._edges[node]
            while following[node] < len(edges) and not self._leads_up(edges[following[node]], node, levels):
                following[node] += 1
            if following[node] < len(edges):
                path.append(edges[following[node]])
                node = self._head[path[-1]]
            elif path:
                node = self._head[path.pop() ^ 1]
                following[node] += 1
            else:
                return

    def _leads_up(self, edge: int, node: int, levels: list[int]) -> bool:
        return self._room[edge] > 0 and levels[self._head[edge]] == levels[node] + 1

    def _fill(self, path: list[int]) -> None:
        amount = min(self._room[edge] for edge in path)
        if math.isinf(amount):
            raise ValueError("there is a way from the source to the sink that cannot be cut")
        for edge in path:
            self._room[edge] -= amount
            self._room[edge ^ 1] += amount
