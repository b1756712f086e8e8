"""The cost of a run as plain values for JSON, and as rows of tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from ttc.runtime.perf.costs import OpCost
from ttc.runtime.perf.epoch import EpochCost
from ttc.runtime.perf.run import RunCost

OP_COLUMNS = (
    ("epoch", "op", "type", "place", "cores", "math", "unpack", "pack", "DRAM in", "NoC in", "DRAM out", "NoC out")
    + ("host", "total", "limit")
)  # fmt: skip
EPOCH_COLUMNS = (
    "epoch",
    "chip",
    "inputs",
    "ops",
    "cores",
    "interval",
    "limit",
    "slowest op",
    "fill",
    "stall",
    "prologue",
    "cycles",
    "DRAM MB",
)


def as_json(cost: RunCost) -> dict[str, Any]:
    """Return all figures of a run; cycles of the worker cores' clock, bytes, and fractions between 0 and 1."""
    found = asdict(cost)
    for epoch, plain in zip(cost.epochs, found["epochs"], strict=True):
        plain["deadlock"] = None if epoch.jam is None else epoch.jam.text()
        del plain["jam"]
    return found | {
        "seconds": cost.seconds,
        "samples_per_second": cost.samples_per_second,
        "roofline": max(cost.math_peak, cost.dram_peak),
        "deadlocks": deadlocks(cost),
        "core_utilization": {str(chip): rows for chip, rows in core_utilization(cost).items()},
    }


def deadlocks(cost: RunCost) -> list[str]:
    """Return a sentence for each epoch that never ends."""
    return [f"epoch {epoch.graphs[0]}: {epoch.jam.text()}" for epoch in cost.epochs if epoch.jam is not None]


def core_utilization(cost: RunCost) -> dict[int, list[list[float]]]:
    """Return the share of the run in which the engines of each core work, by chip; rows of columns as far as ops reach."""
    busy: dict[int, dict[tuple[int, int], float]] = {}
    runs = Counter[int]()
    for execution in cost.executions:
        runs[execution.epoch] += execution.times
    for number, times in runs.items():
        epoch = cost.epochs[number]
        for op in epoch.ops:
            cells = busy.setdefault(op.chip, {})
            spent = op.core * epoch.input_count * times
            for row in range(op.row, op.row + op.rows):
                for col in range(op.col, op.col + op.cols):
                    cells[row, col] = cells.get((row, col), 0.0) + spent
    total = max(cost.cycles, 1.0)
    found: dict[int, list[list[float]]] = {}
    for chip, cells in sorted(busy.items()):
        if cells:
            rows, cols = max(r for r, _ in cells) + 1, max(c for _, c in cells) + 1
            found[chip] = [[round(cells.get((r, c), 0.0) / total, 6) for c in range(cols)] for r in range(rows)]
    return found


def op_rows(cost: RunCost) -> list[list[object]]:
    """Return a row for each op of each epoch, cycles a microbatch."""
    return [_op_row(number, op) for number, epoch in enumerate(cost.epochs) for op in epoch.ops]


def _op_row(epoch: int, op: OpCost) -> list[object]:
    parts = (op.math, op.unpack, op.pack, op.dram_in, op.noc_in, op.dram_out, op.noc_out + op.eth, op.host_in + op.host_out, op.total)
    return [epoch, op.name, op.type, place_text(op), op.cores, *(round(part) for part in parts), op.limit]


def place_text(op: OpCost) -> str:
    """Return a place as text: `0: 2,3 4x8` (chip, row and column of the first core, rows x columns), `host` or `ethernet`."""
    return op.place if op.place != "grid" else f"{op.chip}: {op.row},{op.col} {op.rows}x{op.cols}"


def epoch_rows(cost: RunCost) -> list[list[object]]:
    """Return a row for each epoch."""
    return [_epoch_row(number, epoch) for number, epoch in enumerate(cost.epochs)]


def _epoch_row(number: int, epoch: EpochCost) -> list[object]:
    limit = epoch.limit if epoch.jam is None else "deadlock"
    chips = ",".join(map(str, epoch.chips))
    figures = [round(x) for x in (epoch.fill, epoch.stall, epoch.prologue, epoch.cycles)]
    cores = sum(op.cores for op in epoch.ops)
    head = [number, chips, epoch.input_count, len(epoch.ops), cores, round(epoch.interval), limit, epoch.slowest]
    return [*head, *figures, round(epoch.dram_bytes / 1e6, 2)]


def run_lines(cost: RunCost) -> list[str]:
    """Return sentences that say what a run amounts to."""
    switching = cost.switch_cycles / max(cost.cycles, 1.0)
    chips = f"{cost.chips} chip{'s' if cost.chips > 1 else ''}" + (f", {cost.replicas} replicas," if cost.replicas > 1 else "")
    untimed = sum(op.place == "host" for epoch in cost.epochs for op in epoch.ops)
    lines = [
        f"program {cost.program} on {cost.target}: {chips} of {cost.cores} cores at {cost.clock_hz / 1e9:.2f} GHz",
        f"{cost.cycles:,.0f} cycles, {cost.seconds * 1e3:.3f} ms: {cost.samples:,} samples, {cost.samples_per_second:,.1f} samples/s",
        f"{cost.switches:,} epochs begun, {cost.switch_cycles:,.0f} cycles of switching ({switching:.1%})",
        f"DRAM {cost.dram_bytes / 1e6:,.1f} MB, {cost.dram_peak:.1%} of the best rate; host {cost.host_bytes / 1e6:,.1f} MB, "
        f"{cost.host_cycles:,.0f} cycles",
        f"engines work {cost.utilization:.1%} of the time; tile products take {cost.math_peak:.1%} of the matrix engines' rate at the ops' "
        f"fidelity, {cost.flops_peak:.1%} of their rate in one phase",
    ]
    return [*lines, f"{untimed} ops run on the host and are not timed"] if untimed else lines
