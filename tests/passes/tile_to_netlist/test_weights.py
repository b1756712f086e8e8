"""A weight in two formats becomes two tensors of the archive, the second derived from the first; a state has one format."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.module_pairs import parse_unit
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import derived_functions
from ttc.dialects.netlist.ops import queues_of
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.tile_to_netlist.lower_to_netlist import LowerToNetlist

WIDE = '!tile.tensor<"32x32xFloat32", "tiles(32, 32)">'
NARROW = '!tile.tensor<"32x32xFloat16_b", "tiles(32, 32)">'


def two_formats(leaf: str) -> Unit:
    value = '{sym = "w", value = #ttc.weight<"w", tensor<32x32xf32>>}'
    unit = parse_unit(f"""
    func.func @f() -> ({WIDE} {{ttc.name = "a", ttc.dtype = f32}}, {NARROW} {{ttc.name = "b", ttc.dtype = f32}}) {{
      %w = {leaf}() {value} : () -> {WIDE}
      %v = {leaf}() {value} : () -> {NARROW}
      %a = tile.map(%w) {{fn = "relu"}} : ({WIDE}) -> {WIDE}
      %b = tile.map(%v) {{fn = "relu"}} : ({NARROW}) -> {NARROW}
      func.return %a, %b : {WIDE}, {NARROW}
    }}""")
    unit.weights.add_array("w", np.arange(1024, dtype=np.float32).reshape(32, 32))
    return unit


def test_a_parameter_in_two_formats() -> None:
    unit = two_formats("ttc.param")
    run_pass(LowerToNetlist(), unit)
    keys = {queue.key: queue.tensor for queue in queues_of(unit.module).values() if queue.key is not None}
    assert {key: str(type_) for key, type_ in keys.items()} == {"w": WIDE, "w.Float16_b": NARROW}
    (function,) = derived_functions(unit.module).values()
    assert [op.name for op in function.body.block.ops] == ["ttc.param", "func.return"]
    np.testing.assert_array_equal(unit.weights["w.Float16_b"].value(), unit.weights["w"].value())


def test_a_state_in_two_formats() -> None:
    with pytest.raises(Error, match="state 'w' is used in formats Float32 and Float16_b") as caught:
        run_pass(LowerToNetlist(), two_formats("ttc.state"))
    assert caught.value.code == "E0302"
