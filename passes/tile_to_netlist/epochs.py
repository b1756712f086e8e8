"""Cutting a sequence of ops into epochs, and sharing a chip's cores among the ops of each."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

from ttc.dialects.netlist.model import Grid
from ttc.passes.tile_to_netlist.blocking import Candidate
from ttc.passes.tile_to_netlist.packing import pack

MAX_EPOCH_OPS = 24
SWITCH_CYCLES = 25_000
"""Cycles from the end of an epoch to the start of the next: loading the program of every core."""


def cut(options: Sequence[Sequence[Candidate]], grid: tuple[int, int], input_count: int) -> list[list[tuple[Candidate, Grid]]]:
    """Epochs of consecutive ops, each op with its candidate and place, for the least estimated time of the whole run.

    options[i]: candidates of op i by growing core count.  Dynamic programming over cut points; at most MAX_EPOCH_OPS ops an epoch.
    """
    cores = grid[0] * grid[1]
    best: list[float] = [0.0] + [inf] * len(options)
    start: list[int] = [0] * (len(options) + 1)
    for end in range(1, len(options) + 1):
        for begin in range(max(end - MAX_EPOCH_OPS, 0), end):
            if end - begin > cores:
                continue
            chosen = share_cores(options[begin:end], cores, input_count)
            if chosen is None:
                continue
            time = best[begin] + epoch_cycles(chosen, input_count) + SWITCH_CYCLES
            if time < best[end]:
                best[end], start[end] = time, begin
    bounds: list[tuple[int, int]] = []
    end = len(options)
    while end > 0:
        bounds.append((start[end], end))
        end = start[end]
    return [epoch for begin, end in reversed(bounds) for epoch in _placed(options[begin:end], grid, input_count)]


def epoch_cycles(chosen: Sequence[Candidate], input_count: int) -> float:
    """The slowest op once a microbatch, and the first microbatch through all of them."""
    spent = [c.cycles for c in chosen]
    return max(spent) * (input_count - 1) + sum(spent)


def share_cores(options: Sequence[Sequence[Candidate]], cores: int, input_count: int) -> list[Candidate] | None:
    """One candidate an op, at most `cores` cores in all: shares follow the ops' work, then what is left goes to the slowest."""
    least = sum(o[0].cores for o in options)
    if least > cores:
        return None
    work = [_weight(o[0].cycles * o[0].cores, input_count) for o in options]
    total = sum(work)
    chosen = [_at_most(o, max(int(cores * w / total), 1)) for o, w in zip(options, work, strict=True)]
    spare = cores - sum(c.cores for c in chosen)
    while spare < 0:
        index = max(range(len(chosen)), key=lambda i: (chosen[i].cores - options[i][0].cores, -i))
        smaller = _at_most(options[index], chosen[index].cores - 1)
        spare += chosen[index].cores - smaller.cores
        chosen[index] = smaller
    for index in sorted(range(len(chosen)), key=lambda i: -chosen[i].cycles):
        larger = _at_most(options[index], chosen[index].cores + spare)
        spare -= larger.cores - chosen[index].cores
        chosen[index] = larger
    return chosen


def _weight(cycles: float, input_count: int) -> float:
    """Share of cores by work: in proportion when many microbatches keep all ops busy, by its root when they run in turn."""
    return cycles if input_count >= 4 else sqrt(cycles)


def _at_most(options: Sequence[Candidate], cores: int) -> Candidate:
    fitting = options[0]
    for option in options:
        if option.cores > cores:
            break
        fitting = option
    return fitting


def _placed(options: Sequence[Sequence[Candidate]], grid: tuple[int, int], input_count: int) -> list[list[tuple[Candidate, Grid]]]:
    """Places for the ops of one epoch; fewer cores are tried until the rectangles pack, and then two epochs."""
    cores = grid[0] * grid[1]
    while cores > 0:
        chosen = share_cores(options, cores, input_count)
        if chosen is None:
            break
        places = pack([(c.rows, c.cols) for c in chosen], *grid)
        if places is not None:
            return [list(zip(chosen, places, strict=True))]
        cores = min(sum(c.cores for c in chosen), cores) - 1
    middle = len(options) // 2
    return _placed(options[:middle], grid, input_count) + _placed(options[middle:], grid, input_count)
