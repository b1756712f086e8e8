"""How programs are spread over chips: replicas, pipelines, both, or divided tensors, whichever the performance model finds fastest."""

from __future__ import annotations

from dataclasses import replace

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.machines.chip_groups import near_groups
from ttc.dialects.core.machines.chip_rows import is_row, near_chips
from ttc.dialects.core.numerics import BATCH, TENSOR
from ttc.passes.base import Unit
from ttc.passes.microbatch import compiled
from ttc.passes.nn_to_tile.carriers import Carriers
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows
from ttc.passes.nn_to_tile.stream_batch import independent, with_room
from ttc.passes.pipeline import PipelineSettings
from ttc.passes.tile_to_netlist.layouts import divisors

MOST_PARTS = 8
"""The most chips of a group that is tried, and that divide tensors where nobody asks for more: joining them takes longer than they save."""
GROUP = 4
"""The most chips of a group of which all ways to divide are tried."""
FEW_OPS = 100
"""Ops of a program that compiles so soon that all ways to divide are tried, with larger groups, too; of others both rows and columns."""


def best_spread(unit: Unit, wanted: PipelineSettings) -> PipelineSettings:
    """Return settings with the chips that programs use, and their replicas, so that all programs together take least time.

    Where chips divide a batch into as many parts, they do.  Otherwise there may be one pipeline of all chips, replicas that are pipelines,
    or replicas of one chip each that leave chips idle.  Of a batch that is not divided, linked chips may divide the tensors of ops, take
    epochs in turn, or form groups that do both.  Each way is compiled, and the performance model chooses.

    unit: at the end of stage nn; it is not changed.
    """
    if len(wanted.chips) > 1 and wanted.parallel == TENSOR and not unit.target.is_host:
        return _fastest(unit, _divisions(unit, wanted, len(wanted.chips)))
    chips = wanted.most_replicas
    if chips == 1 or unit.target.is_host:
        return wanted
    rows = RepeatedRows(unit)
    whole = independent([Carriers.of(function, rows.has) for function in entry_functions(unit.module)])
    ways = list(dict.fromkeys(way for count in _counts(whole, chips) for way in _ways(unit, wanted, count)))
    if wanted.parallel == BATCH:
        ways = [way for way in ways if way[0] > 1] or ways
    found = [_settings(wanted, *way) for way in ways]
    if whole == 1 and is_row(unit.target, wanted.chips):
        found.append(replace(wanted, replicas=1, turns=True))
        found += _divisions(unit, wanted, min(chips, MOST_PARTS))
    return _fastest(unit, found)


def _fastest(unit: Unit, ways: list[PipelineSettings]) -> PipelineSettings:
    """Return the way in which all programs take least time; the first one of several."""
    if len(ways) < 2:
        return ways[0]
    cycles = [compiled(unit, way)[1] for way in ways]
    return ways[cycles.index(min(cycles))]


def _divisions(unit: Unit, wanted: PipelineSettings, most: int) -> list[PipelineSettings]:
    """Return the ways in which so many chips divide tensors: groups that take epochs in turn, of chips that divide rows and columns."""
    chips = near_chips(unit.target, wanted.chips, most)
    small = sum(len(list(function.body.block.ops)) for function in entry_functions(unit.module)) <= FEW_OPS
    parts = [count for count in divisors(most) if 1 < count <= MOST_PARTS] or [most]
    pairs = [(most // count, rows) for count in parts for rows in divisors(count)[::-1]]
    chosen = [(groups, rows) for groups, rows in pairs if small or most // groups <= GROUP or 1 < rows < most // groups]
    return [replace(wanted, replicas=1, divides=near_groups(unit.target, chips, *pair), chips=chips) for pair in chosen or pairs]


def _settings(wanted: PipelineSettings, count: int, size: int) -> PipelineSettings:
    return replace(wanted, chips=wanted.chips[: count * size], replicas=count)


def _counts(whole: int, chips: int) -> list[int]:
    """Return numbers of replicas to try: the most that divide batches, and the most of these that divide the chips, too."""
    fitting = [count for count in divisors(whole) if count <= chips]
    return [fitting[0], next(count for count in fitting if chips % count == 0)]


def _ways(unit: Unit, wanted: PipelineSettings, most: int) -> list[tuple[int, int]]:
    """Return numbers of replicas, and of chips of each: all chips, and one for each of several replicas if its weights have room there."""
    chips = len(wanted.chips)
    count = with_room(most, chips, unit, wanted.format)
    alone = count > 1 and with_room(count, count, unit, wanted.format) == count
    return [(count, chips // count), *([(count, 1)] if alone else [])]
