"""Published throughput of whole models against the performance model.

    python tools/published.py [--models resnet50,vit] [--targets n150] [--folder DIR] [--json]

Each model is compiled at its published batch, Bfp8_b and LoFi, for each card, and costed.  The published figures are those of the
reference's own compiler (tenstorrent/benchmarking, 2025-01), so models are compiled for the kernels which that compiler has: fused ones,
such as a whole attention, it lacks.  ONNX files are kept in the folder.  Exits with 1 if an estimate is below half
or above twice the published figure, if Spearman's rank correlation over the table is below 0.8, or if a convolutional network is said to
run above half of the cards' peak.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import ttc
from perf_models import exported
from ttc.runtime.perf.run import RunCost, run_cost

FORMAT, FIDELITY, KERNELS = "Bfp8_b", "LoFi", "buda"
TARGETS = ("e75", "e150", "n150")
PUBLISHED: dict[str, tuple[int, tuple[float, float, float]]] = {
    "resnet50": (256, (1106, 1410, 2891)),
    "mobilenetv2": (256, (1141, 1491, 2721)),
    "vit": (64, (301, 363, 540)),
    "bert-large": (64, (81, 99, 118)),
}
"""Batch, and samples a second on each card."""
HOST_RATES = {"e75": 240e6, "e150": 240e6, "n150": 480e6}
"""Elements of inputs a second that the published hosts lay in tiles: set by hand to the rows of resnet50 and mobilenetv2, which say nothing
else."""
CONVOLUTIONAL = ("resnet50", "mobilenetv2")
LOW, HIGH, CORRELATION, PEAK = 0.5, 2.0, 0.8, 0.5


@dataclass(frozen=True)
class Row:
    """One model on one card; epochs: that its program executes; peak: part of the matrix engines' rate in one phase."""

    model: str
    target: str
    batch: int
    published: float
    estimate: float
    ratio: float
    epochs: int
    limit: str
    peak: float
    standstill: bool


def row_of(model: str, target: str, folder: Path) -> Row:
    """Compile one model, and estimate its cost."""
    batch, figures = PUBLISHED[model]
    program = ttc.compile(exported(folder, model, batch), target=target, format=FORMAT, fidelity=FIDELITY, kernels=KERNELS)
    cost = run_cost(program.netlist, host_rate=HOST_RATES[target])
    published = figures[TARGETS.index(target)]
    found = cost.samples_per_second
    jam = any(epoch.jam is not None for epoch in cost.epochs)
    return Row(model, target, batch, published, found, found / published, len(cost.executions), limit_of(cost), cost.flops_peak, jam)


def limit_of(cost: RunCost) -> str:
    """Return what limits most of a run: the host's transfers, or what limits the epochs that take most of it."""
    if cost.host_cycles > cost.device_cycles:
        return "host"
    parts: dict[str, float] = {}
    for execution in cost.executions:
        epoch = cost.epochs[execution.epoch]
        parts[epoch.limit] = parts.get(epoch.limit, 0.0) + epoch.cycles * execution.times
    return max(parts, key=lambda name: parts[name], default="")


def ranks(values: list[float]) -> list[float]:
    """Return the rank of each value; the mean rank of equal ones."""
    return [sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values]


def spearman(rows: list[Row]) -> float:
    """Return the correlation of the ranks of estimates and published figures; 1 for fewer than two rows."""
    a, b = ranks([row.published for row in rows]), ranks([row.estimate for row in rows])
    mean = (len(rows) - 1) / 2
    spread = (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5
    return sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True)) / spread if spread else 1.0


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=",".join(PUBLISHED))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ttc-perf-models", help="where ONNX files are kept")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    rows: list[Row] = []
    for model in options.models.split(","):
        for target in options.targets.split(","):
            row = row_of(model, target, options.folder)
            rows.append(row)
            if not options.json:
                print(
                    f"{row.model:12} {row.target:5} batch {row.batch:4}  published {row.published:6.0f}/s  estimate {row.estimate:7.1f}/s  "
                    f"ratio {row.ratio:.2f}  {row.epochs:3} epochs  {row.limit:8} {row.peak:.1%} of peak",
                    flush=True,
                )
    found = spearman(rows)
    good = all(LOW <= row.ratio <= HIGH and not row.standstill and (row.model not in CONVOLUTIONAL or row.peak <= PEAK) for row in rows)
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "spearman": found}, indent=2))
    else:
        print(f"Spearman {found:.2f}; {FORMAT}, {FIDELITY}")
    return int(not good or found < CORRELATION)


if __name__ == "__main__":
    sys.exit(main())
