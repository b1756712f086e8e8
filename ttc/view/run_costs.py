"""What programs cost on the device, and what a real run took on this machine, as the page draws it over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.perf.costs import OpCost
from ttc.runtime.perf.run import RunCost, run_cost
from ttc.view.texts import clipped

if TYPE_CHECKING:
    from ttc.reports.profiling import Profile
    from ttc.reports.roofline import Roofline

PARTS = ("math", "unpack", "pack", "dram_in", "noc_in", "host_in", "dram_out", "noc_out", "host_out", "eth", "overhead")
"""Parts of an op's cost, in cycles a microbatch."""
MAX_EXECUTIONS = 2000
"""The most executions of epochs that are drawn, of each program."""


def program_costs(netlist: Netlist) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return what each program costs, and what each op does, by name; nothing for a target that has no cores to estimate."""
    if netlist.chip.grid is None:
        return [], {}
    programs: list[dict[str, Any]] = []
    ops: dict[str, dict[str, Any]] = {}
    for name in netlist.programs:
        try:
            cost = run_cost(netlist, name)
        except Error as error:
            programs.append({"name": clipped(name), "error": clipped(error.message)})
            continue
        programs.append(_program(cost))
        ops |= {clipped(op.name): _op(op) for epoch in cost.epochs for op in epoch.ops}
    return programs, ops


def _program(cost: RunCost) -> dict[str, Any]:
    micro = 1e6 / cost.clock_hz
    epochs = [
        {
            "graphs": [clipped(graph) for graph in epoch.graphs],
            "chips": list(epoch.chips),
            "inputs": epoch.input_count,
            "limit": epoch.limit if epoch.jam is None else "deadlock",
            "slowest": clipped(epoch.slowest),
            "us": epoch.cycles * micro,
            "ops": [
                [clipped(op.name), round(begin * micro, 3), round(end * micro, 3)]
                for op, begin, end in zip(epoch.ops, epoch.begins, epoch.ends, strict=True)
            ],
        }
        for epoch in cost.epochs
    ]
    clock = 1e6 / cost.clock_hz
    return {
        "name": clipped(cost.program),
        "us": cost.seconds * 1e6,
        "samples": cost.samples,
        "samples_per_second": cost.samples_per_second,
        "clock_hz": cost.clock_hz,
        "switch_us": cost.switch_cycles * clock,
        "host_us": cost.host_cycles * clock,
        "dram_bytes": cost.dram_bytes,
        "utilization": cost.utilization,
        "math_peak": cost.math_peak,
        "dram_peak": cost.dram_peak,
        "epochs": epochs,
        "executions": [[e.epoch, e.start * clock, e.cycles * clock, e.times] for e in cost.executions[:MAX_EXECUTIONS]],
        "left_out": max(len(cost.executions) - MAX_EXECUTIONS, 0),
    }


def _op(op: OpCost) -> dict[str, Any]:
    parts = {part: round(value) for part in PARTS if (value := getattr(op, part)) > 0}
    return {"total": round(op.total), "limit": op.limit, "parts": parts, "flops": op.flops, "dram_bytes": op.dram_bytes}


def profiled(profile: Profile, roofline: Roofline) -> dict[str, Any]:
    """Return the jobs of one run on this machine, times in microseconds from its beginning, and what the machine reaches at most."""
    jobs = profile.jobs
    begin = min((job.start_ns for job in jobs), default=0)
    return {
        "threads": roofline.threads,
        "flops_per_second": roofline.flops_per_second,
        "bytes_per_second": roofline.bytes_per_second,
        "jobs": [
            {
                "name": clipped(job.job),
                "op": clipped(job.op),
                "kernel": clipped(job.kernel),
                "start_us": (job.start_ns - begin) / 1e3,
                "us": (job.end_ns - job.start_ns) / 1e3,
                "flops": job.flops,
                "bytes": job.bytes,
                "sources": [clipped(name) for name in job.location],
            }
            for job in jobs
        ],
    }
