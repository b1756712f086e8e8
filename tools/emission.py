"""Compile eight networks with kernels buda, write each as a Buda netlist, check it, read it back, run it, and compare.

    python tools/emission.py [--models cnn,bert] [--target n150] [--formats Float32,Bfp8_b] [--json]

What passes through the queues of the netlist that was read back, results rounded to their formats, is compared with what passes through
those of the compiled program; work on the host is taken over from the program's run.  Exit status 1 if a netlist breaks a rule of the
format, or if one is out of its bound: a relative L2 difference of 1e-5 in Float32, 2e-2 at 16 bits and 6e-2 in block formats.  Sums in
another order flip roundings to narrow formats, which the layers after them amplify; networks without attention come out equal there, most
of them to the bit.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import networks
from ttc.compiler.driver import compile_path
from ttc.dialects.netlist.buda.reader import read_form
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.buda.writer import write_netlist
from ttc.exporters.buda.export import export
from ttc.exporters.buda.replay import replay
from ttc.options import CompileOptions

BOUNDS = {"Float32": 1e-5, "Float16_b": 2e-2, "Bfp8_b": 6e-2}


@dataclass(frozen=True)
class Row:
    """One network in one format: sizes of the netlist, rules that it breaks, and the worst and the last queue's difference."""

    model: str
    format: str
    graphs: int
    ops: int
    queues: int
    violations: int
    worst_relative_l2: float
    result_max_abs: float
    result_relative_l2: float
    result_pcc: float
    within: bool


def row(name: str, path: Path, target: str, format_: str) -> Row:
    """Export a network and replay it."""
    program = compile_path(path, CompileOptions(target=target, format=format_, kernels="buda")).program()
    exported = export(program.netlist)
    form, broken = read_form(write_netlist(exported.form).encode(), f"{name}.yaml")
    broken = [*broken, *check_form(form)]
    entry = program.netlist.programs["forward"]
    inputs = {a.name: np.load(path.with_name(f"{name}.in{i}.npy")) for i, a in enumerate(entry.arguments)}
    found = {item.queue: item.comparison for item in replay(exported, program, inputs)}
    result, worst = found[entry.results[0].queue], max(c.relative_l2 for c in found.values())
    ops = sum(len(graph.ops) for graph in form.graphs.values())
    within = not broken and result.relative_l2 <= BOUNDS.get(format_, 6e-2)
    sizes = (len(form.graphs), ops, len(form.queues), len(broken))
    return Row(name, format_, *sizes, worst, result.max_abs, result.relative_l2, result.pcc, within)


def main() -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=networks.NAMES)
    parser.add_argument("--target", default="n150")
    parser.add_argument("--formats", default=",".join(BOUNDS))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    folder = Path(tempfile.gettempdir()) / "ttc-networks"
    folder.mkdir(exist_ok=True)
    rows: list[Row] = []
    for name in args.models.split(","):
        path = networks.export(name, folder)
        for format_ in args.formats.split(","):
            rows.append(row(name, path, args.target, format_))
            if not args.json:
                print(text(rows[-1]), flush=True)
    if args.json:
        print(json.dumps([asdict(r) for r in rows], indent=2))
    return 0 if all(r.within for r in rows) else 1


def text(found: Row) -> str:
    """Return a line of the table."""
    sizes = f"{found.graphs:3} graphs {found.ops:4} ops {found.queues:4} queues {found.violations} violations"
    numbers = f"max abs {found.result_max_abs:.2e} relative L2 {found.result_relative_l2:.2e} PCC {found.result_pcc:.6f}"
    return f"{found.model:12} {found.format:9} {sizes}  {numbers}  {'' if found.within else 'OUT OF BOUND'}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
