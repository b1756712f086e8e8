"""Matrix products whose times on a Wormhole card were published, against the performance model.

    python tools/gemms.py [--json]

Each product is one op on 8 x 8 cores of an n150 that reads both operands from DRAM and writes its result there.  A core holds the partial
sums of its whole block in L1, as the measured kernels do, with the widest K blocks that fit beside them.  Exits with 1 if the median error
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
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.run import run_cost

TARGET = "n150"
GRID = (8, 8)
TILE = 32
START_CYCLES = rates_of(load_target(TARGET)).start_cycles
"""What was measured begins when the cores start, their programs loaded."""
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


GEMMS = (
    Gemm(512, 512, 512, "Float16_b", "HiFi2", 19.97),
    Gemm(1024, 1024, 1024, "Float16_b", "HiFi2", 69.0),
    Gemm(2048, 2048, 2048, "Float16_b", "HiFi2", 298.9),
    Gemm(4096, 4096, 4096, "Float16_b", "HiFi2", 2008.5),
    Gemm(2048, 2048, 2048, "Bfp8_b", "LoFi", 157.2),
    Gemm(3072, 4096, 4096, "Bfp8_b", "LoFi", 744.7),
)


def netlist_of(gemm: Gemm) -> Netlist:
    """The product as a netlist of one op."""
    target = load_target(TARGET)
    machine = chip(target)
    types = [TensorType(shape, gemm.format, target.layout) for shape in ((gemm.m, gemm.k), (gemm.k, gemm.n), (gemm.m, gemm.n))]
    rows, cols = gemm.m // TILE // GRID[0], gemm.n // TILE // GRID[1]
    ublock = (min(rows, 2), min(cols, 4))
    buffers, inner = _buffers(rows, cols, gemm, machine)
    work = Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (types[2],))
    op = Op(
        name="product",
        type="matmul",
        inputs=("a", "b"),
        place=Grid(0, 0, *GRID),
        blocking=Blocking(1, (rows // ublock[0], cols // ublock[1]), ublock),
        work=Function((types[0], types[1]), (work,), (2,)),
        buffers=buffers,
        intermediate="Float16_b",
        accumulate="Float16_b",
        fidelity=gemm.fidelity,
        inner=inner,
    )
    queues = {name: _queue(name, type_, machine) for name, type_ in zip(("a", "b", "y"), types, strict=True)}
    graph = Graph("g", 0, 1, (op,), (("product", "y"),))
    program = Program("forward", (), (), (Instruction("execute", ("g",)),))
    return Netlist(machine, queues, {"g": graph}, {"forward": program})


def _buffers(rows: int, cols: int, gemm: Gemm, machine: Chip) -> tuple[tuple[Buffer, ...], tuple[int, int]]:
    """Buffers of a core, the result sharing its room with the partial sums; and (m_k, u_kt)."""
    size, partial = tile_bytes(gemm.format, (TILE, TILE), machine), tile_bytes("Float16_b", (TILE, TILE), machine)
    for u_kt in (8, 4, 2, 1):
        found = (
            Buffer("in0", rows * u_kt, size, 2),
            Buffer("in1", u_kt * cols, size, 2),
            Buffer("out", rows * cols, partial),
        )
        if sum(buffer.size_bytes for buffer in found) <= machine.l1_usable_bytes:
            return found, (gemm.k // TILE // u_kt, u_kt)
    raise SystemExit(f"{gemm} does not fit L1")


def _queue(name: str, type_: TensorType, machine: Chip) -> Queue:
    """A tensor spread over all channels of DRAM, row blocks in turn."""
    rows, cols = type_.shape[0] // TILE, type_.shape[1] // TILE
    buffers = tuple((index % machine.dram_channels, 0) for index in range(machine.dram_channels * 4))
    blocking = Blocking(1, (max(rows // len(buffers), 1), cols), (1, 1))
    kind, source = ("output", "product") if name == "y" else ("input", "HOST")
    return Queue(name, kind, "queue", source, type_, 1, "dram", 0, (len(buffers), 1), blocking, buffers, 0)


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON only")
    as_json = parser.parse_args().json
    rows: list[dict[str, object]] = []
    errors: list[float] = []
    for gemm in GEMMS:
        cost = run_cost(netlist_of(gemm))
        epoch = cost.epochs[0]
        estimate = (epoch.cycles + START_CYCLES) / cost.clock_hz * 1e6
        errors.append(abs(estimate / gemm.measured_us - 1))
        name = f"{gemm.m}x{gemm.k}x{gemm.n} {gemm.format} {gemm.fidelity}"
        rows.append({"gemm": name, "measured us": gemm.measured_us, "estimate us": round(estimate, 1), "limit": epoch.limit})
        if not as_json:
            ratio = estimate / gemm.measured_us
            print(f"{name:36} measured {gemm.measured_us:8.1f} us  estimate {estimate:8.1f} us  ratio {ratio:.2f}  {epoch.limit}")
    found = median(errors)
    if as_json:
        print(json.dumps({"gemms": rows, "median error": found}, indent=2))
    else:
        print(f"median error {found:.1%}")
    return int(found > BAR)


if __name__ == "__main__":
    sys.exit(main())
