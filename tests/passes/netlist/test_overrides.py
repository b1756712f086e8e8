"""Rules of placement and the ops they are about."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import parse_unit
from tests.passes.netlist.chains import chain
from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.netlist.ops import NetlistOp, graphs_of
from ttc.passes.netlist.overrides import Overrides, breaks, op_names
from ttc.passes.tile_to_netlist.limits import PlacementLimits


def ops(count: int = 4) -> list[NetlistOp]:
    return graphs_of(parse_unit(chain(count, 64)).module)["g"].ops


def test_ops_go_by_their_source_names_and_their_own() -> None:
    assert op_names(ops()[1]) == ("/layer/m1", "m1")


def test_limits_add_up() -> None:
    rules = (PlacementRule(op="matmul", grid=(2, 2)), PlacementRule(name="m1", start=(1, 1), policy="fastest"))
    first, second = (Overrides(rules).limits(op) for op in ops(2))
    assert first == PlacementLimits(grid=(2, 2), text='op = "matmul", grid = [2, 2]', layouts=2)
    assert second.grid == (2, 2)
    assert (second.start, second.policy) == ((1, 1), "fastest")


def test_effort_widens_what_is_looked_at() -> None:
    found = [Overrides((), effort).limits(ops(1)[0]) for effort in range(3)]
    assert [limits.layouts for limits in found] == sorted(limits.layouts for limits in found)
    assert [limits.thorough for limits in found] == [False, False, True]


@pytest.mark.parametrize(
    ("rules", "numbers"),
    [
        ([PlacementRule(name="m[12]", epoch_break=True)], {1}),
        ([PlacementRule(name="m1", epoch_break=True), PlacementRule(name="m2", epoch_break=True)], {1, 2}),
        ([PlacementRule(name="m*", epoch_break=True), PlacementRule(name="m0", epoch_break=False)], set()),
        ([PlacementRule(name="m2", chip_break=True)], set()),
    ],
)
def test_breaks(rules: list[PlacementRule], numbers: set[int]) -> None:
    assert breaks(rules, ops(), "epoch_break") == numbers


def test_every_rule_is_about_an_op() -> None:
    overrides = Overrides((PlacementRule(name="/layer/m0", grid=(1, 1)), PlacementRule(name="/leyer/*", grid=(1, 1))))
    for op in ops():
        overrides.limits(op)
    with pytest.raises(Error, match="no op on the device matches") as caught:
        overrides.require_matched()
    assert caught.value.code == "E0504"
    assert "/layer/" in (caught.value.hint or "")
