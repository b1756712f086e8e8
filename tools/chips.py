"""What several chips give, by the performance model: throughput of 2, 8 and 32 chips over one, and latency of one sample over eight.

    python tools/chips.py [--models bert-large,vit,resnet50] [--chips 2,8,32] [--batch N] [--target n150] [--folder DIR] [--json]
                          [--latency bert-large,vit] [--latency-chips 2,4,8] [--parallel tensor]

Each network is compiled in Bfp8_b at LoFi.  Throughput: N chips compute a large batch, divided as the compiler chooses, and one chip
computes the same batch.  Latency: a batch of one, over one chip's, divided as the compiler chooses, or as --parallel says.  Exits with 1 if
a ratio misses its bar: for a latency 1, and 0.35 for bert-large on 8 chips.  ONNX files are kept in the folder; those of large batches take
a minute each to make.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ttc
from perf_models import exported
from ttc.dialects.core.numerics import PARALLEL
from ttc.runtime.perf.run import RunCost, run_cost

FORMAT, FIDELITY = "Bfp8_b", "LoFi"
MODELS = ("bert-large", "vit", "resnet50")
BARS = {2: 1.9, 8: 7.0, 32: 24.0}
"""Least throughput of so many chips over one chip's."""
BATCHES = {2: 256, 8: 512, 32: 1024}
"""Samples of all chips together that are enough for so many."""
MOST = {"bert-large": 512}
"""The largest batches that are streamed: exporters expand masks to the batch, which are not evaluated beyond a size."""
MESHES = {2: "1x2", 4: "2x2", 8: "2x4", 32: "4x8"}
LATENCY_MODEL, LATENCY_CHIPS, LATENCY_BAR = "bert-large", 8, 0.35


@dataclass(frozen=True)
class Throughput:
    """Samples a second of one chip and of several, at the batch of all; how many replicas they form, and the bar of the ratio, if any."""

    model: str
    chips: int
    batch: int
    one: float
    several: float
    replicas: int
    bar: float

    @property
    def ratio(self) -> float:
        return self.several / self.one


@dataclass(frozen=True)
class Latency:
    """Milliseconds of a batch of one on one chip and on several, and the bar of their ratio."""

    model: str
    chips: int
    one_ms: float
    several_ms: float
    bar: float

    @property
    def ratio(self) -> float:
        return self.several_ms / self.one_ms


def cost(model: str, batch: int, folder: Path, target: str, chips: int = 1, parallel: str | None = None) -> RunCost:
    """Return what a call of a network costs on so many chips."""
    path = exported(folder, model, batch)
    several: dict[str, Any] = {} if chips == 1 else {"cluster": MESHES.get(chips, f"1x{chips}"), "parallel": parallel}
    return run_cost(ttc.compile(path, target=target, format=FORMAT, fidelity=FIDELITY, **several).netlist)


def throughput(model: str, chips: int, batch: int, folder: Path, target: str) -> Throughput:
    """Compile and cost a network for one chip and for several."""
    one, several = (cost(model, batch, folder, target, count) for count in (1, chips))
    rates = one.samples_per_second, several.samples_per_second
    return Throughput(model, chips, batch, *rates, several.replicas, BARS.get(chips, 0.0))


def latency(model: str, chips: int, folder: Path, target: str, parallel: str | None = None) -> Latency:
    """Compile and cost one sample on one chip and on several.  parallel: how; None: in the way that the compiler chooses."""
    one, several = (cost(model, 1, folder, target, count, parallel).seconds * 1e3 for count in (1, chips))
    return Latency(model, chips, one, several, LATENCY_BAR if (model, chips) == (LATENCY_MODEL, LATENCY_CHIPS) else 1.0)


def verdict(missed: bool) -> str:
    """Return the word behind a row."""
    return "missed" if missed else "met"


def main() -> int:
    """Print the tables; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--chips", default=",".join(map(str, BARS)))
    parser.add_argument("--batch", type=int, help="samples of all chips together; default: enough for so many chips")
    parser.add_argument("--target", default="n150")
    parser.add_argument("--latency", default=LATENCY_MODEL, help="networks of which one sample is timed; none if empty")
    parser.add_argument("--latency-chips", default=str(LATENCY_CHIPS))
    parser.add_argument("--parallel", choices=PARALLEL, help="what chips divide of one sample; default: as is fastest")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ttc-perf-models", help="where ONNX files are kept")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    rows: list[Throughput | Latency] = []
    missed = False
    for model in filter(None, options.models.split(",")):
        for chips in map(int, options.chips.split(",")):
            enough = min(BATCHES.get(chips, 128 * chips), MOST.get(model, 1 << 20))
            row = throughput(model, chips, options.batch or enough, options.folder, options.target)
            rows.append(row)
            missed |= row.ratio < row.bar
            if not options.json:
                rates = f"{row.one:10,.1f}/s on one, {row.several:11,.1f}/s on {chips:2} chips ({row.replicas} replicas)"
                against = f"{row.ratio:6.2f}, bar {row.bar:4.1f} {verdict(row.ratio < row.bar)}"
                print(f"{model:12} batch {row.batch:4} {rates}: {against}", flush=True)
    for model in filter(None, options.latency.split(",")):
        for chips in map(int, options.latency_chips.split(",")):
            row = latency(model, chips, options.folder, options.target, options.parallel)
            rows.append(row)
            missed |= row.ratio > row.bar
            if not options.json:
                times = f"{row.one_ms:.2f} ms on one, {row.several_ms:.2f} on {row.chips} chips"
                print(f"{row.model:12} one sample {times}: {row.ratio:.2f}, bar {row.bar} {verdict(row.ratio > row.bar)}", flush=True)
    if options.json:
        print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=2))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
