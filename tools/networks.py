"""Compile and run real networks for every target, format and kernel set, and compare each with onnxruntime.

    python tools/networks.py [--models cnn,bert] [--targets n150,host] [--formats source,Float16_b] [--kernels fused] [--json]

The networks are those of tests/data/models/models.py, exported with PyTorch into a folder that is kept between calls.  Exit status 1 if
one is out of its bound: Float32 max|a-b| <= 1e-4 max(1, max|b|), 16 bits a relative L2 error of 2e-2, block formats PCC >= 0.99 and a
relative L2 error of 0.1.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import ttc
from ttc.accuracy.distances import compare, lowest_pcc

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "data" / "models" / "models.py"
NAMES = "cnn,mlp,resnet50,mobilenetv2,unet,bert,vit,gpt2"
BUDA = ("cnn", "mlp", "mobilenetv2", "bert")
"""Networks that are also compiled with the reference's own vocabulary of ops."""


@dataclass(frozen=True)
class Row:
    """One network on one machine: the largest figures over its outputs."""

    model: str
    target: str
    format: str
    kernels: str
    max_abs: float
    relative_l2: float
    pcc: float
    within: bool


def export(name: str, folder: Path) -> Path:
    """Return the network's ONNX file, exported once.  Inputs lie beside it as NAME.in<i>.npy."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, str(MODELS), str(folder), name], check=True, capture_output=True)
    return path


def reference(path: Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return inputs by name, and outputs as onnxruntime computes them."""
    session = onnxruntime.InferenceSession(path)
    arrays = [np.load(path.with_name(f"{path.stem}.in{i}.npy")) for i in range(len(session.get_inputs()))]
    inputs = {port.name: array for port, array in zip(session.get_inputs(), arrays, strict=True)}
    outputs: list[Any] = list(session.run(None, inputs))
    return inputs, {port.name: array for port, array in zip(session.get_outputs(), outputs, strict=True)}


def measure(path: Path, inputs: dict[str, np.ndarray], wanted: dict[str, np.ndarray], target: str, format_: str, kernels: str) -> Row:
    """Compile, run and compare one network."""
    program = ttc.compile(path, target=target, format=format_, kernels=kernels)
    with ttc.Executor(program) as executor:
        found = executor.run(inputs)
    figures = [compare(found[name], value) for name, value in wanted.items()]
    error = max(f.relative_l2 for f in figures)
    pcc = lowest_pcc(figures)
    if format_ in ("source", "Float32"):
        within = all(f.within for f in figures)
    elif format_.startswith("Bfp"):
        within = error <= 0.1 and not pcc < 0.99
    else:
        within = error <= 2e-2
    return Row(path.stem, target, format_, kernels, max(f.max_abs for f in figures), error, pcc, within)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=NAMES)
    parser.add_argument("--targets", default="n150,e150,p150,host")
    parser.add_argument("--formats", default="source,Float16_b,Bfp8_b")
    parser.add_argument("--kernels", default="fused,buda")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ttc-networks")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in options.models.split(","):
        path = export(name, options.folder)
        inputs, wanted = reference(path)
        for target, format_, kernels in itertools.product(*(v.split(",") for v in (options.targets, options.formats, options.kernels))):
            if kernels == "buda" and (name not in BUDA or target == "host"):
                continue
            row = measure(path, inputs, wanted, target, format_, kernels)
            rows.append(row)
            if not options.json:
                figures = f"{row.max_abs:10.2e} {row.relative_l2:10.2e} {row.pcc:11.7f}"
                print(f"{name:12} {target:5} {format_:10} {kernels:6} {figures}  {'ok' if row.within else 'OUT OF BOUND'}", flush=True)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    return 0 if all(row.within for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
