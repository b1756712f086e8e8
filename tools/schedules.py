"""How far schedules are from the limit of the engines, by the performance model: six networks at small batches.

    python tools/schedules.py [--models vit,bert-large] [--targets n150,p150] [--batches 1,8] [--effort 1] [--folder DIR] [--json]

Each network is compiled in Bfp8_b at LoFi and costed, the host as fast as its link.  The limit is the longer of what the engines' work
takes, spread evenly over all cores, and what the schedule's traffic takes at the best rate of DRAM.  Prints for each the samples a
second, time / limit, what part of the time switches and prologues take, and the seconds of compilation.  ONNX files are kept in the folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import ttc
from perf_models import exported
from ttc.runtime.perf.run import RunCost, run_cost

FORMAT, FIDELITY = "Bfp8_b", "LoFi"
MODELS = ("resnet50", "mobilenetv2", "vit", "bert-large", "gpt2", "llama")
TARGETS = ("n150", "p150")
BATCHES = (1, 8)


@dataclass(frozen=True)
class Row:
    """A network on a card: samples a second, time / limit, parts of the time, epochs of a run, microbatches, seconds of compilation."""

    model: str
    target: str
    batch: int
    samples_per_second: float
    time_by_limit: float
    switching: float
    prologue: float
    epochs: int
    microbatches: int
    compile_seconds: float


def limit_cycles(cost: RunCost) -> float:
    """Return cycles that the engines, or DRAM, need at least: their shares of the run, whichever is larger."""
    return cost.cycles * max(cost.utilization, cost.dram_peak)


def row_of(model: str, target: str, batch: int, effort: int, folder: Path) -> Row:
    """Compile one network, and estimate its cost."""
    path = exported(folder, model, batch)
    start = time.perf_counter()
    program = ttc.compile(path, target=target, format=FORMAT, fidelity=FIDELITY, effort=effort)
    seconds = time.perf_counter() - start
    cost = run_cost(program.netlist)
    prologue = sum(cost.epochs[execution.epoch].prologue * execution.times for execution in cost.executions)
    return Row(
        model,
        target,
        batch,
        samples_per_second=cost.samples_per_second,
        time_by_limit=cost.cycles / limit_cycles(cost),
        switching=cost.switch_cycles / cost.cycles,
        prologue=prologue / cost.cycles,
        epochs=len(cost.executions),
        microbatches=max(epoch.input_count for epoch in cost.epochs),
        compile_seconds=seconds,
    )


def text(row: Row) -> str:
    """Return a line of the table."""
    figures = f"{row.samples_per_second:9,.1f}/s  time / limit {row.time_by_limit:5.2f}"
    parts = f"switches {row.switching:4.0%}  prologues {row.prologue:4.0%}  {row.epochs:3} epochs  {row.microbatches:2} microbatches"
    return f"{row.model:12} {row.target:5} batch {row.batch:3} {figures}  {parts}  compiled in {row.compile_seconds:.1f} s"


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--batches", default=",".join(map(str, BATCHES)))
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ttc-perf-models", help="where ONNX files are kept")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    rows: list[Row] = []
    for model in options.models.split(","):
        for batch in map(int, options.batches.split(",")):
            for target in options.targets.split(","):
                rows.append(row_of(model, target, batch, options.effort, options.folder))
                if not options.json:
                    print(text(rows[-1]), flush=True)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
