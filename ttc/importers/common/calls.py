"""Functions that call functions: none itself, not too deep, and not too many nodes once each call is replaced by what it calls."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

MAX_DEPTH = 64
"""The most functions nested in each other by calls."""
MAX_NODES = 1_000_000
"""The most nodes of a model once calls are replaced."""
Key = TypeVar("Key", bound=Hashable)


@record
class GraphBody(Generic[Key]):
    """The size of a graph or function in nodes, and what it calls; `name` is for messages."""

    name: str
    nodes: int
    calls: Sequence[Key]


def check_calls(main: GraphBody[Key], functions: Mapping[Key, GraphBody[Key]]) -> None:
    """Check that no function calls itself, directly or not, and that the model without calls is of bounded depth and size. Raises E0203."""
    found: dict[Key, tuple[int, int]] = {}  # nodes without calls, levels of calls
    active: set[Key] = set()

    def inlined(body: GraphBody[Key]) -> tuple[int, int]:
        inner = [called(key) for key in body.calls]
        return body.nodes + sum(count for count, _ in inner), max((levels for _, levels in inner), default=0)

    def called(key: Key) -> tuple[int, int]:
        body = functions[key]
        if key in active:
            raise Error("E0203", f"function '{body.name}' calls itself")
        if key not in found:
            active.add(key)
            count, levels = (0, MAX_DEPTH) if len(active) > MAX_DEPTH else inlined(body)
            active.remove(key)
            if levels >= MAX_DEPTH:
                raise Error("E0203", f"functions call each other more than {MAX_DEPTH} deep, at '{body.name}'")
            found[key] = count, levels + 1
        return found[key]

    total, _ = inlined(main)
    for key in functions:
        called(key)
    if total > MAX_NODES:
        raise Error("E0203", f"the model has {total} nodes once its functions are inlined; at most {MAX_NODES} are taken")
