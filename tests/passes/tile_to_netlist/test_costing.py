"""What candidates move, before it is known where from."""

from __future__ import annotations

from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Blocking
from ttc.passes.tile_to_netlist.costing import Costs, CostTemplate
from ttc.runtime.perf.base import OpView

COSTS = Costs(load_target("n150"))
TILE = 2080


def tensor(*shape: int) -> TensorType:
    return TensorType(shape, "Float16_b", "tiles(32, 32)")


VIEW = OpView("matmul", {}, (tensor(128, 256), tensor(256, 512), None), tensor(128, 512), "HiFi4")
TEMPLATE = CostTemplate.of(VIEW)
BLOCKING = Blocking(1, (2, 4), (1, 2))
"""Of 2 x 2 cores: 2 x 8 tiles each."""


def test_a_template_has_the_operands_that_are_there() -> None:
    assert TEMPLATE.operands == (0, 1)
    assert TEMPLATE.op.work.works[0].operands == (0, 1, None)


def test_weights_are_held_where_all_of_them_fit() -> None:
    """Eight tiles of K by eight columns a core, by two columns of cores; the rows of cores hold the same, which counts once."""
    held = COSTS.streams(TEMPLATE, frozenset({1}), (2, 2), BLOCKING, (2, 4), {"in0": 32, "in1": 64})
    assert (held.held_bytes, held.streamed_bytes) == (2 * 64 * TILE, 0)
    read = COSTS.streams(TEMPLATE, frozenset({1}), (2, 2), BLOCKING, (2, 4), {"in0": 32, "in1": 32})
    assert (read.held_bytes, read.streamed_bytes) == (0, 2 * 64 * TILE)
    assert read.cycles > held.cycles


def test_a_core_absorbs_all_its_streams() -> None:
    """Two rows of eight tiles of the left operand, eight columns of eight of the right one."""
    both = COSTS.streams(TEMPLATE, frozenset(), (2, 2), BLOCKING, (2, 4), {})
    assert both.cycles >= (2 * 8 + 8 * 8) * TILE / COSTS.rates.absorb_core


def test_every_reader_is_sent_the_result() -> None:
    assert COSTS.sent(tensor(32, 32), 16, 3) == 3 * COSTS.sent(tensor(32, 32), 16, 1) == 3 * 16 * TILE / COSTS.rates.inject_core
