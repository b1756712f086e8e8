"""Every op of ttc, nn, tile and netlist, with every field of every kind of value, absent ones and all locations: text gives it again."""

from __future__ import annotations

import pytest

from tests.ops.fields import OPS, fitting, made, variants
from ttc.dialects.core.ir.adapter import TtcOp, print_op
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.segments import SEGMENTS
from ttc.dialects.netlist.ops import dialect as netlist
from ttc.dialects.nn.base import dialect as nn
from ttc.dialects.tile.base import dialect as tile


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_text_gives_the_op_again(op: type[TtcOp]) -> None:
    assert all(fitting(p.constr) for name, p in op.get_irdl_definition().properties.items() if name != SEGMENTS)
    for number in range(variants(op)):
        for full in (True, False):
            module = made(op, number, full=full)
            text = print_op(module)
            again = parse_module(text, "text", [nn, tile, netlist])
            assert print_op(again) == text
            assert "nan" in text or again.is_structurally_equivalent(module)
            (was,), (now,) = ([o for o in m.walk() if isinstance(o, op)] for m in (module, again))
            assert (source_names(now.location), type(now.location)) == (source_names(was.location), type(was.location))
