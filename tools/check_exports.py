"""Export small networks of 24 architectures for TT-NN, as ONNX models and as StableHLO, run them all, and compare with PyTorch.

    python tools/check_exports.py [--networks t5,swin] [--jax]

Ops of TT-NN are executed by the stand-in of the tests, in the formats of the device; ONNX models by onnxruntime; StableHLO by jax on the
CPU, which is in the extra `peers`: without --jax it is written but not run.  Exit status 1 if an export is refused, or a result is out of
its bound: a relative L2 error of 2e-2 in 16 bits, a correlation of 0.99 in blocks of 8 bits, and for ONNX and StableHLO a difference of
1e-5, relative to 1 or to the largest number.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

import checkout  # noqa: F401
from ttc.accuracy.distances import compare
from ttc.dialects.core.errors import Error
from ttc.exporters.graph import graph_of
from ttc.exporters.request import ExportRequest
from ttc.exporters.table import exported
from ttc.exporters.ttnn.export import export
from ttc.options import CompileOptions

sys.path.append(str(Path(__file__).resolve().parent.parent))  # tests have the networks and the stand-in
from tests.ttc.exporters.networks import BUILDERS, network, saved  # noqa: E402
from tests.ttc.exporters.ttnn.running import run_module  # noqa: E402

L2, PCC, EXACT = 2e-2, 0.99, 1e-5
"""Bounds of the columns; the last one is that of ONNX and StableHLO."""


@dataclass(frozen=True)
class Row:
    """One network, exported in four ways.

    Args:
        network: its name.
        l2: relative L2 error of TT-NN's module in 16 bits.
        pcc: correlation of that with weights in blocks of 8 bits.
        onnx: largest difference of the ONNX model, relative to 1 or to the largest number.
        stablehlo: that of the StableHLO module; None if it was not run.
        refused: why an export was refused; then there are no figures.
    """

    network: str
    l2: float = np.nan
    pcc: float = np.nan
    onnx: float = np.nan
    stablehlo: float | None = None
    refused: str = ""

    @property
    def within(self) -> bool:
        """Whether the figures are there, and within their bounds."""
        exact = self.onnx <= EXACT and (self.stablehlo is None or self.stablehlo <= EXACT)
        return not self.refused and self.l2 <= L2 and self.pcc >= PCC and exact


def measured(name: str, *, jax: bool) -> Row:
    """Export a network in all ways, and run what was exported; StableHLO where jax is there."""
    model, inputs = network(name)
    with torch.no_grad():
        wanted = model(*inputs).numpy()
    with tempfile.TemporaryDirectory() as folder:
        path = saved(name, Path(folder))
        try:
            sixteen, blocks = (compare(on_stand_in(path, inputs, format_), wanted) for format_ in (None, "Bfp8_b"))
            onnx = compare(by_onnxruntime(path, inputs), wanted)
            text = exported("stablehlo", path, ExportRequest(CompileOptions()))[""].decode()
        except Error as error:
            return Row(name, refused=f"{error.code}: {error.message}")
    stablehlo = compare(by_jax(text, inputs), wanted) if jax else None
    return Row(
        name,
        sixteen.relative_l2,
        blocks.pcc,
        onnx.max_abs / onnx.scale,
        None if stablehlo is None else stablehlo.max_abs / stablehlo.scale,
    )


def on_stand_in(path: Path, inputs: Sequence[torch.Tensor], format_: str | None) -> NDArray:
    """Return the result of the module for TT-NN, with weights of a format; None: 16 bits."""
    graph = graph_of(path, CompileOptions())
    (found,) = run_module(export(graph, format_), dict(zip(graph.inputs, inputs, strict=True))).values()
    return found.float().numpy()


def by_onnxruntime(path: Path, inputs: Sequence[torch.Tensor]) -> NDArray:
    """Return the result of the ONNX model."""
    session = onnxruntime.InferenceSession(exported("onnx", path, ExportRequest(CompileOptions()))[""])
    (found,) = session.run(None, {port.name: value.numpy() for port, value in zip(session.get_inputs(), inputs, strict=True)})
    return np.asarray(found)


def by_jax(text: str, inputs: Sequence[torch.Tensor]) -> NDArray:
    """Return the result of the StableHLO module."""
    from tests.ttc.exporters.stablehlo.running import run_text

    (found,) = run_text(text, [value.numpy() for value in inputs])
    return found


def table(rows: Sequence[Row]) -> str:
    """Return a table of Markdown: a row a network."""
    titles = ("network", "TT-NN, 16 bits: relative L2", "TT-NN, blocks of 8 bits: PCC", "ONNX: largest difference", "StableHLO")
    lines = [f"| {' | '.join(titles)} |", "|---|---|---|---|---|"]
    for row in rows:
        last = "no jax" if row.stablehlo is None else f"{row.stablehlo:.0e}"
        figures = row.refused or f"{row.l2:.4f} | {row.pcc:.5f} | {row.onnx:.0e} | {last}"
        lines.append(f"| {row.network} | {figures} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--networks", default=",".join(BUILDERS), help="also timm:NAME[:SIZE] where timm is installed")
    parser.add_argument("--jax", action="store_true", help="run StableHLO by jax")
    options = parser.parse_args(arguments)
    if options.jax and find_spec("jax") is None:
        parser.error("jax is not installed: pip install -e '.[peers]'")
    rows: list[Row] = []
    for name in options.networks.split(","):
        rows.append(measured(name, jax=options.jax))
        print(f"{name}: {'within' if rows[-1].within else 'OUT OF'} bounds", file=sys.stderr)
    print(table(rows))
    return 0 if all(row.within for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
