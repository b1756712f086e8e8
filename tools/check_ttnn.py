"""Export networks of 24 architectures for TT-NN, and run them on mock devices of the real TT-NN.

    python tools/check_ttnn.py --python .venv-ttnn/bin/python [--machines n150,t3k] [--batches 1,8] [--networks t5,swin] [--tensor] [--ours]

TT-NN checks every call, chooses its kernels, and places all tensors in L1 and DRAM; numbers are not computed.  Exit status 1 if it
refuses a call, or if tensors and kernels' buffers need more L1 than a core has; 2 without a Python that has TT-NN.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import torch
from safetensors.torch import load

import checkout  # noqa: F401
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.core.numerics import BATCH, TENSOR
from ttc.exporters.graph import ModelGraph, dtype_of
from ttc.exporters.request import ExportRequest
from ttc.exporters.ttnn.entry import exported_programs
from ttc.exporters.ttnn.export import export_all
from ttc.exporters.ttnn.module import FORWARD
from ttc.options import CompileOptions
from ttc.runtime.perf.run import run_cost
from ttnn_machines import MACHINES

sys.path.append(str(Path(__file__).resolve().parent.parent))  # tests have the networks, and the record of answers
from tests.ttc.exporters.networks import BUILDERS, GENERATORS, generator, saved
from tests.ttc.exporters.networks import TENSOR as TENSOR_BUILDERS  # noqa: E402
from tests.ttc.exporters.ttnn.calls import write_answers  # noqa: E402
from ttnn_remote import Refusal, Remote, install_stub  # noqa: E402

NEEDS_PLACES = frozenset(("ttnn.experimental.indexed_fused_update_cache",))
"""Calls that compare addresses of their tensors, and take those without for one: their kernels' buffers are not counted."""


@dataclass(frozen=True)
class Row:
    """One network on one machine.

    Args:
        calls: of TT-NN that were made.
        peak_bytes: of L1 that the fullest core held, tensors and kernels' buffers.
        refused: TT-NN's message; empty: all calls were accepted.
        ours: what ttc says of the model compiled for one chip of the machine, in 16 bits, where that was asked for.
    """

    network: str
    machine: str
    batch: int
    calls: int = 0
    peak_bytes: int = 0
    refused: str = ""
    ours: Estimate | None = None


@dataclass(frozen=True)
class Estimate:
    """What ttc says of a compiled model.

    Args:
        peak_bytes: of L1 that the buffers of its largest op take on a core.
        seconds: of one call, as `ttc perf` estimates it.
    """

    peak_bytes: int
    seconds: float


def estimated(name: str, batch: int, target: str) -> Estimate:
    """Compile a network for a chip, and say what it takes there."""
    with tempfile.TemporaryDirectory() as folder:
        package = compile_path(saved(name, Path(folder), batch), CompileOptions(target=target, format="Float16_b")).package
    assert package is not None
    sizes = [sum(buffer.size_bytes for buffer in op.buffers) for graph in package.netlist.graphs.values() for op in graph.ops]
    return Estimate(max(sizes), run_cost(package.netlist).seconds)


def measured(remote: Remote, name: str, batch: int, machine: str, *, tensor: bool = False, ours: bool = False) -> Row:
    """Export a network, and run all its programs on a mock device.

    batch: rows of each chip.  tensor: chips divide the tensors of the layers, and have all rows.  ours: estimate it, too.
    """
    rows = batch if tensor else batch * remote.machine.chips
    with tempfile.TemporaryDirectory() as folder:
        path = generator(name, Path(folder), rows) if name in GENERATORS else saved(name, Path(folder), rows)
        options = CompileOptions(target=remote.machine.target, chips=remote.machine.chips)
        try:
            programs = exported_programs(path, ExportRequest(options, parallel=TENSOR if tensor else BATCH))
            files = export_all(programs)
        except Error as error:
            return Row(name, machine, batch, refused=f"{error.code}: {error.message}")
    before = remote.calls
    try:
        peak = run(remote, files, [(FORWARD if len(programs) == 1 else whole.program, inputs_of(whole)) for whole, _ in programs])
    except Refusal as refusal:
        return Row(name, machine, batch, remote.calls - before, refused=str(refusal).partition("backtrace")[0].strip())
    fits = "" if peak <= remote.core_bytes else f"a core needs {peak:,} bytes of L1 and has {remote.core_bytes:,}"
    calls = (remote.calls - before) // 2
    estimate = estimated(name, batch, remote.machine.target) if ours and name not in GENERATORS else None
    return Row(name, machine, batch, calls, peak, fits, estimate)


def inputs_of(graph: ModelGraph) -> dict[str, torch.Tensor]:
    """Return inputs for a program, whose numbers mean nothing."""
    kinds = zip(graph.inputs, graph.function.inputs, strict=True)
    return {name: torch.zeros(kind.shape, dtype=getattr(torch, str(dtype_of(kind)))) for name, kind in kinds}


def run(remote: Remote, files: dict[str, bytes], calls: Sequence[tuple[str, dict[str, torch.Tensor]]]) -> int:
    """Run programs of an exported module twice: TT-NN gives tensors addresses, then counts kernels' buffers; returns a core's peak of L1.

    calls: names of functions, and their inputs.
    """
    peak = 0
    for place in (True, False):
        with mock.patch.dict(sys.modules, {"ttnn": remote.module}):
            module = types.ModuleType("exported")
            exec(compile(files["model.py"], "model.py", "exec"), vars(module))
        remote.ask(do="begin", place=place)
        remote.left_out = frozenset() if place else NEEDS_PLACES
        try:
            module.prepare(remote.device, load(files["weights.safetensors"]))
            for name, inputs in calls:
                getattr(module, name)(remote.device, inputs)
        finally:
            module.PREPARED.clear()
            peak = remote.ask(do="end")
    return peak


def has_ttnn(python: Path) -> bool:
    """Return whether a Python is there and has TT-NN."""
    try:
        return (
            subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('ttnn') is None)"], check=False).returncode
            == 0
        )
    except OSError:
        return False


def table(rows: Sequence[Row]) -> str:
    """Return a table of Markdown: a row a network and batch, machines side by side."""
    machines = list(dict.fromkeys(row.machine for row in rows))
    ours = any(row.ours is not None for row in rows)
    titles = "calls | L1 of a core, kB" + (" | ttc: L1 of a core, kB | ttc perf, us" if ours else "")
    lines = [
        "| network | batch | " + " | ".join(f"{name}: {titles}" for name in machines) + " |",
        "|---|---|" + "---|" * (titles.count("|") + 1) * len(machines),
    ]
    for key in dict.fromkeys((row.network, row.batch) for row in rows):
        found = {row.machine: row for row in rows if (row.network, row.batch) == key}
        cells = [_cells(found.get(machine), ours=ours) for machine in machines]
        lines.append(f"| {key[0]} | {key[1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(row: Row | None, *, ours: bool) -> str:
    """Return the calls and the peak of a row, and what ttc says; empty where a network does not go with a machine."""
    more = " |  | " if ours else ""
    if row is None:
        return " | " + more
    if row.ours is not None:
        more = f" | {row.ours.peak_bytes / 1e3:.0f} | {row.ours.seconds * 1e6:.0f}"
    return ("refused | " if row.refused else f"{row.calls} | {row.peak_bytes / 1e3:.0f}") + more


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", type=Path, required=True, help="a Python that has TT-NN installed")
    parser.add_argument("--machines", default=",".join(MACHINES), help="chips of a machine with several divide the batch")
    parser.add_argument("--batches", default="1,8")
    parser.add_argument(
        "--networks",
        help="default: all small ones, with --tensor those whose heads chips divide; and generators.  Also timm:NAME[:SIZE]",
    )
    parser.add_argument("--tensor", action="store_true", help="chips of a machine with several divide tensors instead of the batch")
    parser.add_argument("--ours", action="store_true", help="show beside it what ttc estimates for one chip: L1 of a core, and time")
    parser.add_argument("--record", action="store_true", help="write the answers of the first machine, batch 1, where tests find them")
    options = parser.parse_args(arguments)
    if not has_ttnn(options.python):
        print(f"error: {options.python} has no TT-NN: `make conformance-ttnn` sets up one that has", file=sys.stderr)
        return 2
    try:
        install_stub(options.python)
    except Refusal as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 2
    networks = options.networks.split(",") if options.networks else [*(TENSOR_BUILDERS if options.tensor else BUILDERS), *GENERATORS]
    rows: list[Row] = []
    answers: list[tuple[str, str]] = []
    for machine in options.machines.split(","):
        with tempfile.TemporaryDirectory() as folder:
            remote = Remote(options.python, MACHINES[machine].in_a_row() if options.tensor else MACHINES[machine], Path(folder))
            for batch in map(int, options.batches.split(",")):
                for name in networks:
                    if name in GENERATORS and remote.machine.chips > 1 and not options.tensor:
                        continue  # chips that divide a batch keep no caches
                    rows.append(measured(remote, name, batch, machine, tensor=options.tensor, ours=options.ours))
                    print(f"{machine}, batch {batch}: {name}: {rows[-1].refused or 'accepted'}", file=sys.stderr)
                answers = answers or list(remote.answers)
            remote.close()
    print(table(rows))
    if options.record:
        write_answers(answers)
    return 1 if any(row.refused for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
