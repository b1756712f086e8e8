"""Entry functions with gradients, for tests of what these keep."""

from __future__ import annotations

from tests.passes.module_pairs import parse_unit
from ttc.dialects.core.ir.entries import entry_functions
from ttc.passes.base import Unit
from ttc.passes.manager import run_passes
from ttc.passes.nn.differentiate import BACKWARD, Differentiate
from ttc.passes.nn.stash import Stash

WIDTH = 4
PLAIN = "{transpose_a = false, transpose_b = false}"
BYTES = 4 * 4 * WIDTH
"""How many bytes one value of a chain takes."""


def chain(layers: int, marked: range = range(0)) -> Unit:
    """A chain of products with weights and tanh, whose gradients are given by `backward`; layers in `marked` are marked."""
    lines, last = [], "%x"
    of_rows, of_weights = f"tensor<4x{WIDTH}xf32>", f"tensor<{WIDTH}x{WIDTH}xf32>"
    for i in range(layers):
        mark = 'loc(fused["layer", "recompute.0"])' if i in marked else f'loc("layer{i}")'
        value = ", ".join(f"{0.1 * (n // WIDTH - n % WIDTH) + 0.05 * i:.2f}" for n in range(WIDTH * WIDTH))
        lines += [
            f'%w{i} = ttc.param() {{sym = "w{i}", value = #ttc.literal<[{value}], {of_weights}>}} : () -> {of_weights}',
            f"%p{i} = nn.matmul({last}, %w{i}) {PLAIN} : ({of_rows}, {of_weights}) -> {of_rows} {mark}",
            f"%t{i} = nn.tanh(%p{i}) : ({of_rows}) -> {of_rows} {mark}",
        ]
        last = f"%t{i}"
    text = "\n".join(lines)
    unit = parse_unit(
        f"""
        func.func @forward(%x: {of_rows} {{ttc.name = "x"}}) -> ({of_rows} {{ttc.name = "y"}}) {{
        {text}
        func.return {last} : {of_rows}
        }}
        """,
        "host",
    )
    run_passes([Differentiate(into=BACKWARD)], unit)
    return unit


def stash_of(unit: Unit) -> Stash:
    """What its gradients keep."""
    (function,) = [f for f in entry_functions(unit.module) if f.sym_name.data == BACKWARD]
    return Stash(function)
