"""The figures that `fit_costs.py` fits: where each starts, and in which unit; and the YAML they are kept in.

Starting values are the maker's published weights (tt-budabackend, perf_lib/op_model, version 3 for Wormhole B0 and 2 for Grayskull) or
follow from the rates of the matrix engine; a figure that no timing bears on keeps its start.
"""

from __future__ import annotations

from collections.abc import Mapping

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from ttc.runtime.perf.table import Figure

WORMHOLE = {
    "exp": (9, 1771), "exp.approx": (10.2, 812.8), "gelu": (7.9, 270.4), "gelu_derivative": (19.5, 2219.6),
    "gelu_derivative.approx": (19.5, 383.8), "log": (8, 718.1), "power": (54.4, 200.4), "sqrt": (7.9, 910.1),
    "reciprocal": (7.9, 910.1), "sigmoid": (25, 266.5), "tanh": (20.2, 204.1), "square": (20.1, 204.2), "abs": (31.2, 171.5),
    "sine": (7.9, 910.1), "cosine": (13.3, 1547.5), "lrelu": (19.5, 322), "dropout": (19.5, 574.2), "add": (234.3, 49.6),
    "subtract": (234.1, 49.7), "multiply": (222, 54.6), "maximum": (9.9, 333.8), "quantization": (45.7, 594.6),
    "dequantization": (60.1, 529.1), "requantization": (61.7, 489.4), "splice": (132, 69), "reduce_z": (0, 287),
}  # fmt: skip
"""Figures in cycles a ublock and a tile, by function."""

GRAYSKULL = {
    "exp": (0, 2666), "exp.approx": (31.1, 668.1), "gelu": (64, 286), "gelu_derivative": (0, 3116),
    "gelu_derivative.approx": (12.1, 822.2), "log": (0, 1413), "power": (140.9, 125.6), "sqrt": (195, 159),
    "reciprocal": (29, 915), "sigmoid": (84.2, 174.8), "add": (294, 50.4), "subtract": (293.6, 50.5), "multiply": (261.2, 54.8),
    "maximum": (30.7, 260.3),
}  # fmt: skip

SHARED: dict[str, tuple[float, str]] = {
    "input": (30, "cycles"),
    "stream.block": (225, "cycles/block"),
    "stream.tile": (28, "cycles/tile"),
    "stream.pipe": (14.2, "bytes/cycle"),
    "stream.result": (22, "bytes/cycle"),
    "reduce_r.line": (12, "cycles"),
    "reduce_r.tile": (59, "cycles/tile"),
    "reduce_c.line": (12, "cycles"),
    "reduce_c.tile": (91, "cycles/tile"),
    "reduce.pipe": (19.7, "bytes/cycle"),
    "vector.overlap": (4, "ratio"),
    "reduce_z.read": (37, "bytes/cycle"),
    "reciprocal.approx.block": (8, "cycles/block"),
    "reciprocal.approx.tile": (780, "cycles/tile"),
    "stream.int8.block": (300, "cycles/block"),
    "stream.int8.tile": (31, "cycles/tile"),
    "vector.tile": (30, "cycles/tile"),
    "vector.r": (0.125, "ratio"),
    "vector.c": (0.5, "ratio"),
    "matmul.product": (16.5, "cycles/tile"),
    "matmul.k": (15, "cycles"),
    "matmul.out": (8, "cycles/tile"),
    "matmul.unpack": (60, "bytes/cycle"),
    "matmul.pipe": (10.5, "bytes/cycle"),
    "spill.block": (115, "cycles/block"),
    "spill.tile": (46.5, "cycles/tile"),
    "spill.block.block": (185, "cycles/block"),
    "spill.block.tile": (24, "cycles/tile"),
    "spill.word.block": (155, "cycles/block"),
    "spill.word.tile": (165, "cycles/tile"),
    "l1_acc.block": (20, "cycles/block"),
    "l1_acc.tile": (40, "cycles/tile"),
    "l1_acc.block.block": (58, "cycles/block"),
    "l1_acc.block.tile": (47, "cycles/tile"),
    "l1_acc.last_block": (30, "cycles/block"),
    "l1_acc.last_tile": (30, "cycles/tile"),
    "l1_acc.overlap": (2.5, "ratio"),
    "depthwise.block": (10, "cycles/block"),
    "depthwise.product": (75, "cycles/tile"),
    "sparse.strip": (100, "cycles"),
    "sparse.index": (80, "cycles"),
    "sparse.ublock": (80, "cycles"),
    "sparse.product": (10, "cycles/tile"),
    "sparse.phase": (16, "cycles/tile"),
    "sparse.reload_block": (60, "cycles/block"),
    "sparse.reload": (45, "cycles/tile"),
    "gather": (28, "bytes/cycle"),
}
"""Figures other than those of functions: where each starts, and its unit."""


HEAD = (
    "Cycles of one core by primitive: what `runtime/perf/core.py` computes with.  Written by tools/fit_costs.py; do not edit.",
    "block: a ublock of the result.  fitted: to public timings of single ops on silicon (tt-budabackend, perf_lib).",
    "published: the maker's weights (tt-budabackend, perf_lib/op_model), a rate of the engines, or a neighbour's: no timing bears on it.",
)
"""The first lines of every file."""

WIDER = dict.fromkeys(("stream.pipe", "stream.result", "matmul.pipe", "matmul.unpack", "reduce.pipe", "gather"), 2.0)
"""Figures of Blackhole in terms of Wormhole's, whose published weights it has to the byte: its NoC is twice as wide, and its unpackers keep
up with the matrix engine in the products that tools/gemms.py names as fitted."""


def starts(arch: str) -> dict[str, Figure]:
    """Return all figures of an architecture before any is fitted."""
    functions = WORMHOLE | (GRAYSKULL if arch == "grayskull" else {})
    found = {f"{op}.block": Figure(block, "cycles/block", "published") for op, (block, _) in functions.items()}
    found |= {f"{op}.tile": Figure(tile, "cycles/tile", "published") for op, (_, tile) in functions.items()}
    return found | {name: Figure(value, unit, "published") for name, (value, unit) in SHARED.items()}


def to_toml(arch: str, figures: Mapping[str, Figure], like: str | None = None) -> str:
    """Return the file of an architecture: one figure a line, by name."""
    lines = [*(f"# {line}" for line in HEAD), f'arch = "{arch}"', *([f'like = "{like}"'] if like else []), "", "[figures]"]
    for name in sorted(figures):
        figure = figures[name]
        lines.append(f'"{name}" = {{value = {figure.value:.6g}, unit = "{figure.unit}", origin = "{figure.origin}"}}')
    return "\n".join(lines) + "\n"
