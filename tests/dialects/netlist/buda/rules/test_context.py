"""Architectures, and names resolved."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.dialects.core.machines.targets import complete
from ttc.dialects.netlist.buda.form import BudaOp, BudaQueue
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.rules.context import Context, arch_named, faults_of, missing, tiles
from ttc.dialects.netlist.violations import Violation

CHIPS = Path(__file__).resolve().parents[4] / "data" / "netlists" / "small" / "chips.yaml"


@pytest.mark.parametrize("name", ["grayskull", "wormhole_b0", "blackhole"])
def test_architectures_are_those_of_targets(name: str) -> None:
    arch, own = arch_named(name), complete({"arch": name}, name)
    assert arch.grid == tuple(own["grid"])
    for field in (
        "l1_bytes",
        "dram_channels",
        "dram_channel_bytes",
        "alignment_bytes",
        "dst_tiles",
        "dram_ports",
        "host_channels",
        "host_channel_bytes",
    ):
        assert getattr(arch, field) == own[field]


def test_the_first_wormhole() -> None:
    assert (arch_named("wormhole").dst_tiles, arch_named("wormhole_b0").dst_tiles) == (32, 8)


def test_names_of_instances() -> None:
    context = Context(read_netlist(CHIPS), arch_named("wormhole_b0"))
    assert context.queues["both.1"] is context.netlist.queues["both"]
    assert context.ops["each.0"] is context.ops["each"]
    assert "x.0" not in context.queues
    assert [(op.name, index) for op, index in context.readers["later"]] == [("last", 0), ("slope", 0), ("slope", 1)]
    assert [queue.name for queue in context.outputs["each"]] == ["out"]
    assert (context.unresolved, context.ambiguous) == (False, False)


def test_faults_and_their_owners() -> None:
    found = [Violation("E0613", "n:3: fused op '0': sub-op 'a'", "x"), Violation("E0615", "n:4", "y")]
    assert faults_of(found) == {"fused op '0'", "fused op '0': sub-op 'a'"}


def test_what_is_missing_is_what_nothing_was_written_for() -> None:
    assert missing(BudaQueue("q", t=1, lines={"df": 3}), "t", "df", "input") == ["input"]


def test_tiles_of_an_owner() -> None:
    assert tiles(BudaOp("o", t=2, grid_size=(2, 3), mblock=(4, 5), ublock=(1, 2))) == (2, 8, 30)
    assert tiles(BudaOp("o", t=2)) is None
