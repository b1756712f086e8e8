"""Before/After pairs of whole modules: for passes that work on functions, tiles or netlists."""

from __future__ import annotations

import textwrap

from xdsl.dialects.builtin import ModuleOp

from tests.passes.documented import pair
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.netlist.ops import dialect as netlist
from ttc.dialects.nn.base import dialect as nn
from ttc.dialects.tile.base import dialect as tile
from ttc.passes.base import Pass, Report, Unit
from ttc.passes.manager import run_pass


def parse_unit(text: str, target: str = "n150") -> Unit:
    """Ops of a module's body as a unit without weights."""
    module = parse_module(textwrap.dedent(text), "test", [nn, tile, netlist])
    verify(module)
    return Unit(module, WeightStore(), load_target(target))


def body_text(module: ModuleOp) -> str:
    """The ops of a module's body, without locations, value names and the module's attributes."""
    for op in module.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            value.name_hint = None
    return "\n".join(print_op(op, locations=False) for op in module.ops)


def check_pair(pass_: Pass, target: str = "n150") -> tuple[Unit, Report]:
    """Execute the Before/After pair of a pass's docstring; returns the unit and the report."""
    before, after = pair(type(pass_))
    unit = parse_unit(before, target)
    report = run_pass(pass_, unit)
    verify(unit.module)
    assert body_text(unit.module) == body_text(parse_unit(after, target).module)
    return unit, report
