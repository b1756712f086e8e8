"""The microbatch of a streamed batch that makes a run shortest, by compiling with several."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.ops import graphs_of, programs_of
from ttc.dialects.netlist.to_model import to_model
from ttc.passes.base import Unit
from ttc.passes.manager import run_passes
from ttc.passes.pipeline import USUAL, PipelineSettings, stages
from ttc.runtime.perf.run import run_cost

FACTORS = (2, 4, 8)
"""Factors by which the usual number of samples is multiplied, and divided, in trials."""


def best_microbatch(unit: Unit, wanted: PipelineSettings) -> int | None:
    """Return the samples of a microbatch with which all programs of a unit take least time; None for the usual number, or without a
    streamed batch.

    unit: at the end of stage nn; it is not changed.  wanted: what else is asked of the passes; trials place with the usual effort.
    """
    cycles, count, size = tried(unit, wanted, None)
    if count <= 1 or cycles == inf:
        return None
    usual = size // count
    wishes = [usual * f for f in FACTORS if size % (usual * f) == 0] + [usual // f for f in FACTORS if usual % f == 0]
    best: tuple[float, int | None] = cycles, None
    for samples in wishes:
        found, _, _ = tried(unit, wanted, samples)
        if found < best[0]:
            best = found, samples
    return best[1]


def tried(unit: Unit, wanted: PipelineSettings, samples: int | None) -> tuple[float, int, int]:
    """Return cycles of all programs with so many samples a microbatch (inf if that fits no machine), microbatches, and samples of the
    batch.
    """
    trial, cycles = compiled(unit, replace(wanted, samples=samples))
    if cycles == inf:
        return inf, 1, 1
    counts = [graph.input_count for graph in graphs_of(trial.module).values()]
    sizes = [port.samples for program in programs_of(trial.module).values() for port in program.arguments if port.streamed]
    return cycles, max(counts, default=1), max(sizes, default=1)


def compiled(unit: Unit, wanted: PipelineSettings) -> tuple[Unit, float]:
    """Return a copy of a unit at the end of stage netlist, and the cycles of all its programs, inf if it fits no machine.

    unit: at the end of stage nn; it is not changed.  wanted: of the passes, but for effort, which is the usual one.
    """
    trial = Unit(unit.module.clone(), unit.weights.copy(), unit.target)
    passes = stages(unit.target, replace(wanted, effort=USUAL.effort))
    try:
        run_passes([*passes["tile"], *passes["netlist"]], trial)
        netlist = to_model(trial.module)
        return trial, sum(run_cost(netlist, name).device_cycles for name in netlist.programs)
    except Error:
        return trial, inf
