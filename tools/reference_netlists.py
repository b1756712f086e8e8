"""The reference compiler's own netlists against our compilation of the same networks, both costed by the performance model.

    python tools/reference_netlists.py DIR [--kernels fused,buda] [--folder DIR] [--json]

DIR: a folder with the reference's `perf_lib/graph_tests`.  Each network is compiled at the formats, fidelity and chip of its netlist, with
as many samples as the netlist's program computes.  Exits with 1 if ours needs more than 0.8 of the time with fused kernels, or more than
all of it with Buda's.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import ttc
from perf_models import exported
from published import limit_of
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.perf.run import RunCost, run_cost

BARS = {"fused": 0.8, "buda": 1.0}


@dataclass(frozen=True)
class Reference:
    """A netlist, and the network it was compiled from."""

    path: str
    network: str
    format: str
    fidelity: str


REFERENCES = (
    Reference("wormhole_b0/inference/resnet50_hifi3_fp16b", "resnet50", "Float16_b", "HiFi3"),
    Reference("wormhole_b0/inference/bert_large_hifi3_fp16b", "encoders-24", "Float16_b", "HiFi3"),
    Reference("grayskull/inference/bert_large_lofi_bfp8b_4encoders_oct5", "encoders-4", "Bfp8_b", "LoFi"),
)


@dataclass(frozen=True)
class Side:
    """The figures of one netlist: milliseconds of the run, of its epochs and switches, of the host; what limits most of it."""

    samples: int
    run_ms: float
    device_ms: float
    host_ms: float
    switch_ms: float
    epochs: int
    limit: str
    utilization: float
    dram_mb: float
    limits_ms: dict[str, float]


def side(cost: RunCost) -> Side:
    """Return the figures of a run."""
    ms = 1e3 / cost.clock_hz
    limits: dict[str, float] = {}
    for execution in cost.executions:
        epoch = cost.epochs[execution.epoch]
        limits[epoch.limit] = round(limits.get(epoch.limit, 0.0) + epoch.cycles * execution.times * ms, 3)
    jam = any(epoch.jam is not None for epoch in cost.epochs)
    return Side(
        samples=cost.samples,
        run_ms=cost.cycles * ms,
        device_ms=cost.device_cycles * ms,
        host_ms=cost.host_cycles * ms,
        switch_ms=cost.switch_cycles * ms,
        epochs=len(cost.executions),
        limit="standstill" if jam else limit_of(cost),
        utilization=cost.utilization,
        dram_mb=cost.dram_bytes / 1e6,
        limits_ms=dict(sorted(limits.items(), key=lambda entry: -entry[1])),
    )


def descriptor(folder: Path, name: str, arch: str, grid: tuple[int, int]) -> Path:
    """Return a file that describes the chip of a netlist."""
    path = folder / f"{name}.yaml"
    path.write_text(f"name: {name}\narch: {arch}\nchips: 1\ngrid: [{grid[0]}, {grid[1]}]\n", encoding="utf-8")
    return path


def registers(netlist: Netlist) -> list[dict[str, str]]:
    """Return a rule that gives ops the formats in which most ops of a netlist accumulate and keep partial results."""
    ops = [op for graph in netlist.graphs.values() for op in graph.ops]
    return [{name: Counter(getattr(op, name) for op in ops).most_common(1)[0][0] for name in ("accumulate", "intermediate")}]


def compared(reference: Reference, root: Path, folder: Path, kernels: str) -> tuple[Side, Side]:
    """Return the reference's side and ours."""
    netlist = to_netlist(read_netlist(root / "perf_lib" / "graph_tests" / f"{reference.path}.yaml"))
    theirs = run_cost(netlist)
    model = exported(folder, reference.network, theirs.samples)
    chip = netlist.chip
    if chip.grid is None:
        raise SystemExit(f"{reference.path} has no grid")
    target = descriptor(folder, f"whole-{chip.arch.replace('_', '-')}", chip.arch, chip.grid)
    program = ttc.compile(
        model, target=str(target), format=reference.format, fidelity=reference.fidelity, kernels=kernels, precision_file=registers(netlist)
    )
    return side(theirs), side(run_cost(program.netlist))


def line_of(name: str, part: Side) -> str:
    """Return a line of the table."""
    return (
        f"  {name:9} {part.run_ms:9.2f} ms: device {part.device_ms:9.2f}, host {part.host_ms:8.2f}; {part.epochs} epochs, switches "
        f"{part.switch_ms:.2f}; engines {part.utilization:.0%}, DRAM {part.dram_mb:,.0f} MB; limits {part.limits_ms}"
    )


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", type=Path, help="folder that holds perf_lib/graph_tests")
    parser.add_argument("--kernels", default=",".join(BARS))
    parser.add_argument("--only", default="", help="networks, by name")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ttc-perf-models", help="where ONNX files are kept")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    good = True
    for reference in REFERENCES:
        if options.only and reference.network not in options.only.split(","):
            continue
        for kernels in options.kernels.split(","):
            theirs, ours = compared(reference, options.root, options.folder, kernels)
            ratio = ours.run_ms / theirs.run_ms
            good = good and ratio <= BARS[kernels] and ours.limit != "standstill"
            rows.append({**asdict(reference), "kernels": kernels, "ratio": ratio, "reference": asdict(theirs), "ours": asdict(ours)})
            if not options.json:
                print(
                    f"{reference.network} {reference.format} {reference.fidelity}, {theirs.samples} samples, kernels {kernels}: {ratio:.2f}"
                )
                for name, part in (("reference", theirs), ("ours", ours)):
                    print(line_of(name, part), flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
