"""Matrix products whose times on a Wormhole and a Blackhole card were published, against the performance model.

    python tools/gemms.py [--json]

Each product is one op on the cores of a card that reads both operands from DRAM and writes its result there.  A core adds up the partial
sums of its whole block in L1, as the measured kernels do, with the widest K blocks that fit beside them.  Blackhole's figures were fitted
to the products in Float16_b on 13 columns of cores alone; all other rows of p150 are a test.  Exits with 1 if the median error of a card
is above 15 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from statistics import median

from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Blocking, Buffer, Chip, Graph, Grid, Instruction, Netlist, Op, Program, Queue
from ttc.dialects.netlist.sizes import tile_bytes
from ttc.passes.netlist.accumulate_in_l1 import IN_L1
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.run import run_cost

TILE = 32
BAR = 0.15


@dataclass(frozen=True)
class Gemm:
    """A product [m, k] x [k, n] and its published time in microseconds."""

    m: int
    k: int
    n: int
    format: str
    fidelity: str
    measured_us: float
    target: str = "n150"
    grid: tuple[int, int] = (8, 8)

    @property
    def fitted(self) -> bool:
        """Return whether figures of the model were fitted to the product."""
        return self.target == "p150" and self.format == "Float16_b" and self.grid == (10, 13)


GEMMS = (
    Gemm(512, 512, 512, "Float16_b", "HiFi2", 19.97),
    Gemm(1024, 1024, 1024, "Float16_b", "HiFi2", 69.0),
    Gemm(2048, 2048, 2048, "Float16_b", "HiFi2", 298.9),
    Gemm(4096, 4096, 4096, "Float16_b", "HiFi2", 2008.5),
    Gemm(2048, 2048, 2048, "Bfp8_b", "LoFi", 157.2),
    Gemm(3072, 4096, 4096, "Bfp8_b", "LoFi", 744.7),
    Gemm(640, 832, 832, "Float16_b", "HiFi2", 18.07, "p150", (10, 13)),
    Gemm(640, 1664, 1664, "Float16_b", "HiFi2", 32.44, "p150", (10, 13)),
    Gemm(640, 1664, 3328, "Float16_b", "HiFi2", 54.37, "p150", (10, 13)),
    Gemm(1280, 1664, 1664, "Float16_b", "HiFi2", 48.28, "p150", (10, 13)),
    Gemm(1280, 1664, 3328, "Float16_b", "HiFi2", 84.85, "p150", (10, 13)),
    Gemm(1280, 3328, 3328, "Float16_b", "HiFi2", 127.11, "p150", (10, 13)),
    Gemm(2560, 3328, 3328, "Float16_b", "HiFi2", 239.68, "p150", (10, 13)),
    Gemm(2560, 3328, 4992, "Float16_b", "HiFi2", 343.86, "p150", (10, 13)),
    Gemm(2560, 4992, 4992, "Float16_b", "HiFi2", 465.24, "p150", (10, 13)),
    Gemm(3840, 4992, 4992, "Float16_b", "HiFi2", 699.43, "p150", (10, 13)),
    Gemm(3840, 6656, 6656, "Float16_b", "HiFi2", 1211.09, "p150", (10, 13)),
    Gemm(5120, 6656, 6656, "Float16_b", "HiFi2", 1609.77, "p150", (10, 13)),
    Gemm(640, 832, 832, "Bfp8_b", "LoFi", 15.18, "p150", (10, 13)),
    Gemm(640, 1664, 1664, "Bfp8_b", "LoFi", 24.54, "p150", (10, 13)),
    Gemm(640, 1664, 3328, "Bfp8_b", "LoFi", 38.17, "p150", (10, 13)),
    Gemm(1280, 1664, 1664, "Bfp8_b", "LoFi", 31.89, "p150", (10, 13)),
    Gemm(1280, 1664, 3328, "Bfp8_b", "LoFi", 50.69, "p150", (10, 13)),
    Gemm(1280, 3328, 3328, "Bfp8_b", "LoFi", 72.80, "p150", (10, 13)),
    Gemm(2560, 3328, 3328, "Bfp8_b", "LoFi", 126.97, "p150", (10, 13)),
    Gemm(2560, 3328, 4992, "Bfp8_b", "LoFi", 181.51, "p150", (10, 13)),
    Gemm(2560, 4992, 4992, "Bfp8_b", "LoFi", 243.88, "p150", (10, 13)),
    Gemm(3840, 4992, 4992, "Bfp8_b", "LoFi", 358.22, "p150", (10, 13)),
    Gemm(3840, 6656, 6656, "Bfp8_b", "LoFi", 614.57, "p150", (10, 13)),
    Gemm(5120, 6656, 6656, "Bfp8_b", "LoFi", 812.78, "p150", (10, 13)),
    Gemm(1280, 1664, 1664, "Bfp4_b", "LoFi", 25.05, "p150", (10, 13)),
    Gemm(2560, 3328, 3328, "Bfp4_b", "LoFi", 110.04, "p150", (10, 13)),
    Gemm(3840, 4992, 4992, "Bfp4_b", "LoFi", 324.72, "p150", (10, 13)),
    Gemm(5120, 6656, 6656, "Bfp4_b", "LoFi", 743.99, "p150", (10, 13)),
    Gemm(640, 1408, 1408, "Float16_b", "HiFi2", 27.76, "p150", (10, 11)),
    Gemm(1280, 2816, 2816, "Float16_b", "HiFi2", 108.11, "p150", (10, 11)),
    Gemm(2560, 4224, 4224, "Float16_b", "HiFi2", 392.01, "p150", (10, 11)),
    Gemm(5120, 5632, 5632, "Float16_b", "HiFi2", 1356.12, "p150", (10, 11)),
)
"""The products of tt-metal's report, which its library ran from a trace with configurations of its own choice."""


def netlist_of(gemm: Gemm) -> Netlist:
    """Return the product as a netlist of one op."""
    target = load_target(gemm.target)
    machine = chip(target)
    types = [TensorType(shape, gemm.format, target.layout) for shape in ((gemm.m, gemm.k), (gemm.k, gemm.n), (gemm.m, gemm.n))]
    rows, cols = gemm.m // TILE // gemm.grid[0], gemm.n // TILE // gemm.grid[1]
    ublock = (min(rows, 2), min(cols, 4))
    buffers, inner = _buffers(rows, cols, gemm, machine)
    work = Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (types[2],))
    op = Op(
        name="product",
        type="matmul",
        inputs=("a", "b"),
        place=Grid(0, 0, *gemm.grid),
        blocking=Blocking(1, (rows // ublock[0], cols // ublock[1]), ublock),
        work=Function((types[0], types[1]), (work,), (2,)),
        buffers=buffers,
        intermediate="Float16_b",
        accumulate="Float16_b",
        fidelity=gemm.fidelity,
        inner=inner,
        settings=IN_L1,
    )
    queues = {name: _queue(name, type_, machine) for name, type_ in zip(("a", "b", "y"), types, strict=True)}
    graph = Graph("g", 0, 1, (op,), (("product", "y"),))
    program = Program("forward", (), (), (Instruction("execute", ("g",)),))
    return Netlist(machine, queues, {"g": graph}, {"forward": program})


def _buffers(rows: int, cols: int, gemm: Gemm, machine: Chip) -> tuple[tuple[Buffer, ...], tuple[int, int]]:
    """Buffers of a core, the result sharing its room with the partial sums; and (m_k, u_kt)."""
    size, partial = tile_bytes(gemm.format, (TILE, TILE), machine), tile_bytes("Float16_b", (TILE, TILE), machine)
    for u_kt in (tiles for tiles in range(8, 0, -1) if gemm.k // TILE % tiles == 0):
        found = (
            Buffer("in0", rows * u_kt, size, 2),
            Buffer("in1", u_kt * cols, size, 2),
            Buffer("out", rows * cols, partial),
        )
        if sum(buffer.size_bytes for buffer in found) <= machine.l1_usable_bytes:
            return found, (gemm.k // TILE // u_kt, u_kt)
    raise SystemExit(f"{gemm} does not fit L1")


def _queue(name: str, type_: TensorType, machine: Chip) -> Queue:
    """Return a tensor spread over all channels of DRAM, row blocks in turn."""
    rows, cols = type_.shape[0] // TILE, type_.shape[1] // TILE
    buffers = tuple((index % machine.dram_channels, 0) for index in range(machine.dram_channels * 4))
    blocking = Blocking(1, (max(rows // len(buffers), 1), cols), (1, 1))
    kind, source = ("output", "product") if name == "y" else ("input", "HOST")
    return Queue(name, kind, "queue", source, type_, 1, "dram", 0, (len(buffers), 1), blocking, buffers, 0)


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON only")
    as_json = parser.parse_args().json
    rows: list[dict[str, object]] = []
    errors: dict[str, list[float]] = {}
    for gemm in GEMMS:
        estimate, limit = estimate_of(gemm)
        ratio = estimate / gemm.measured_us
        errors.setdefault(f"{gemm.target}, fitted" if gemm.fitted else gemm.target, []).append(abs(ratio - 1))
        name = f"{gemm.target} {gemm.m}x{gemm.k}x{gemm.n} {gemm.format} {gemm.fidelity}"
        rows.append({"gemm": name, "measured us": gemm.measured_us, "estimate us": round(estimate, 1), "limit": limit})
        if not as_json:
            print(f"{name:40} measured {gemm.measured_us:8.1f} us  estimate {estimate:8.1f} us  ratio {ratio:.2f}  {limit}")
    found = {name: median(values) for name, values in errors.items()}
    if as_json:
        print(json.dumps({"gemms": rows, "median errors": found}, indent=2))
    else:
        print("median errors: " + ", ".join(f"{name} {error:.1%}" for name, error in found.items()))
    return int(max(found.values()) > BAR)


def estimate_of(gemm: Gemm) -> tuple[float, str]:
    """Return microseconds of a product, and what limits it. The measured time begins when the cores start, their programs loaded."""
    cost = run_cost(netlist_of(gemm))
    start = rates_of(load_target(gemm.target)).start_cycles
    return (cost.epochs[0].cycles + start) / cost.clock_hz * 1e6, cost.epochs[0].limit


if __name__ == "__main__":
    sys.exit(main())
