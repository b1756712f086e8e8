"""Candidates and problems made by hand, so that the best placement is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttc.dialects.core.machines.targets import Target, load_target
from ttc.dialects.netlist.model import Blocking, Buffer
from ttc.passes.tile_to_netlist.blocking import Blockings, Candidate
from ttc.passes.tile_to_netlist.problem import Problem, ProblemNode


def small(rows: int = 2, cols: int = 2) -> Target:
    """A Wormhole with few cores."""
    return replace(load_target("n150"), grid=(rows, cols))


def candidate(rows: int, cols: int, busy: int, held: int = 0, streamed: int = 0) -> Candidate:
    """A candidate of one step, with a buffer for its result."""
    return Candidate(rows, cols, Blocking(1, (1, 1), (1, 1)), (Buffer("out", 1, 2080, 2),), None, busy, busy, held, streamed)


def found(*candidates: Candidate) -> Blockings:
    """Candidates by growing cores, all of them worth taking."""
    return Blockings(candidates, candidates, (), ())


def even(work: int, most: int) -> Blockings:
    """An op whose work is shared evenly by 1 to `most` cores in a row."""
    return found(*(candidate(1, cores, work // cores) for cores in range(1, most + 1)))


def chain(founds: Sequence[Blockings], target: Target, input_count: int, result_bytes: int = 0) -> Problem:
    """Ops of which each reads the one before it."""
    last = len(founds) - 1
    nodes = [ProblemNode(f, i, (i - 1,) if i else (), 0, result_bytes, stored=i == last) for i, f in enumerate(founds)]
    return Problem(nodes, target, input_count)
