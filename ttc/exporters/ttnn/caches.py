"""Caches of keys and values: variables whose rows a program writes, which TT-NN updates in place, two of them by one call."""

from __future__ import annotations

from ttc.dialects.core.plain.functions import Function, Work, numbered
from ttc.dialects.core.records import record
from ttc.exporters.graph import ModelGraph
from ttc.passes.nn.sharding.scatter import is_rows

TURN = (0, 2, 1, 3)
"""The permutation between [b, places, heads, width], as programs have caches, and [b, heads, places, width], as TT-NN has them."""


@record(frozen=False, eq=False)
class CachePair:
    """Two scatters of rows [b, n, heads, width] into variables [b, places, heads, width], to the same places.

    Args:
        works: the two ops.
        leaves: the variables.
        packed: names of the first one's rows, once they are written as the call takes them.
    """

    works: tuple[Work, ...]
    leaves: tuple[Work, ...]
    packed: str = ""


@record
class Caches:
    """The caches of a program, and the scatters that write them.

    Args:
        pairs: by the identity of each scatter.
        leaves: identities of the variables.
        turns: identities of transposes whose results are rows of caches alone, and need not be written.
    """

    pairs: dict[int, CachePair]
    leaves: frozenset[int]
    turns: frozenset[int]


NO_CACHES = Caches({}, frozenset(), frozenset())


def caches_of(graph: ModelGraph) -> Caches:
    """Find the scatters that TT-NN writes in place.

    Two variables of one shape make a pair: nothing else reads them, and nothing reads the first result before the second is written.
    """
    makers, readers = _makers(graph.function), _readers(graph.function)
    pairs: dict[int, CachePair] = {}
    waiting: dict[tuple[object, ...], tuple[Work, int]] = {}
    for index, (work, number) in enumerate(numbered(graph.function)):
        if not is_rows(work) or not _is_cache(graph, work, number, makers, readers):
            continue
        key = (work.operands[1], work.results[0].shape, work.results[0].format)
        first, result = waiting.pop(key, (None, 0))
        if first is None or min(readers.get(result, ()), default=index) < index:
            waiting[key] = work, number
            continue
        pair = CachePair((first, work), (makers[first.operands[0]], makers[work.operands[0]]))
        pairs |= dict.fromkeys(map(id, pair.works), pair)
    turns = {id(work) for work, number in numbered(graph.function) if _is_turn(graph, work, number, pairs, readers)}
    return Caches(pairs, frozenset(id(leaf) for pair in pairs.values() for leaf in pair.leaves), frozenset(turns))


def _makers(function: Function) -> dict[int | None, Work]:
    """Return the work that makes the first result of each number."""
    return {number: work for work, number in numbered(function)}


def _readers(function: Function) -> dict[int, list[int]]:
    """Return the places of the works that read each value."""
    readers: dict[int, list[int]] = {}
    for index, work in enumerate(function.works):
        for number in work.operands:
            if number is not None:
                readers.setdefault(number, []).append(index)
    return readers


def _is_cache(graph: ModelGraph, work: Work, number: int, makers: dict[int | None, Work], readers: dict[int, list[int]]) -> bool:
    """Return whether the result of a scatter is the new value of a variable that nothing else reads."""
    source = work.operands[0]
    leaf = makers.get(source)
    if leaf is None or source is None or leaf.op != "ttc.state" or len(readers[source]) != 1 or source in graph.function.outputs:
        return False
    updated = [output.updates for output, place in zip(graph.outputs, graph.function.outputs, strict=True) if place == number]
    return updated == [leaf.attrs["sym"]]


def _is_turn(graph: ModelGraph, work: Work, number: int, pairs: dict[int, CachePair], readers: dict[int, list[int]]) -> bool:
    """Return whether a transpose gives rows for caches and nothing else."""
    if work.op != "nn.transpose" or work.attrs["perm"] != TURN or number in graph.function.outputs:
        return False
    users = [graph.function.works[place] for place in readers.get(number, ())]
    return bool(users) and all(id(user) in pairs and user.operands[2] == number for user in users)
