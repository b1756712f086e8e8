"""SoC descriptors in Tenstorrent's form: samples, and tables of broken ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.soc import fields_of, is_soc
from ttc.dialects.core.machines.targets import load_target

SAMPLES = Path(__file__).parents[3] / "data" / "device_descriptors"


@pytest.mark.parametrize(
    ("name", "arch", "grid", "l1_usable", "channels", "ports", "eth_links"),
    [
        ("grayskull_10x12", "grayskull", (10, 12), 577_408, 8, 1, 0),
        ("grayskull_120_arch", "grayskull", (10, 12), 577_408, 8, 1, 0),
        ("grayskull_1x1_arch", "grayskull", (1, 1), 577_408, 1, 1, 0),
        ("wormhole_b0_1x1", "wormhole_b0", (1, 1), 1_027_968, 6, 3, 16),
        ("wormhole_b0_4x6", "wormhole_b0", (4, 6), 1_027_968, 6, 3, 16),
        ("wormhole_b0_80_arch", "wormhole_b0", (10, 8), 1_027_968, 6, 3, 16),
        ("wormhole_b0_80_harvested", "wormhole_b0", (10, 8), 1_027_968, 6, 3, 16),
        ("wormhole_b0_8x10", "wormhole_b0", (10, 8), 1_027_968, 6, 3, 16),
        ("wormhole_b0_9x8_harvested", "wormhole_b0", (9, 8), 1_027_968, 6, 3, 16),
        ("blackhole_10x14", "blackhole", (10, 14), 1_015_616, 8, 3, 14),
    ],
)
def test_samples(name: str, arch: str, grid: tuple[int, int], l1_usable: int, channels: int, ports: int, eth_links: int) -> None:
    target = load_target(str(SAMPLES / f"{name}.yaml"))
    assert (target.name, target.arch, target.grid, target.dst_tiles) == (name, arch, grid, 8)
    assert (target.l1_usable_bytes, target.dram_channels, target.dram_ports, target.eth_links) == (l1_usable, channels, ports, eth_links)


@pytest.mark.parametrize(
    ("sample", "name"), [("grayskull_10x12", "e150"), ("wormhole_b0_9x8_harvested", "n150"), ("blackhole_10x14", "p150")]
)
def test_samples_of_whole_cards_equal_the_targets_that_come_with_ttc(sample: str, name: str) -> None:
    found, known = load_target(str(SAMPLES / f"{sample}.yaml")), load_target(name)
    differing = {field for field in known.__dataclass_fields__ if getattr(found, field) != getattr(known, field)}
    assert differing == {"name"}


def test_translated_rows_can_be_harvested() -> None:
    target = load_target(str(SAMPLES / "wormhole_b0_80_harvested.yaml"))
    assert target.rows == target.harvestable_rows == tuple(range(18, 28))


# ---- broken ones -------------------------------------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "grid": {"x_size": 5, "y_size": 6},
    "dram": [["0-0", "0-1"], ["0-2", "0-3"]],
    "eth": ["4-0"],
    "functional_workers": [f"{x}-{y}" for y in (1, 2, 4) for x in (1, 2, 3)],
    "harvested_workers": [f"{x}-5" for x in (1, 2, 3)],
    "worker_l1_size": 1_499_136,
    "dram_bank_size": 1 << 30,
    "arch_name": "WORMHOLE_B0",
    "features": {"math": {"dst_size_alignment": 65536}, "noc": {"translation_id_enabled": False}},
}


def test_fields() -> None:
    assert is_soc(GOOD)
    fields, workers = fields_of(GOOD, "small", "small.yaml")
    assert (fields["grid"], fields["rows"], fields["dst_tiles"], workers) == ((3, 3), (1, 2, 4), 16, 12)


def test_a_harvested_row_may_be_listed_among_the_functional_ones_too() -> None:
    raw = {**GOOD, "functional_workers": GOOD["functional_workers"] + GOOD["harvested_workers"]}
    fields, workers = fields_of(raw, "small", "small.yaml")
    assert (fields["rows"], workers) == ((1, 2, 4), 12)


def changed(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda raw: raw.update(fields)


@pytest.mark.parametrize("field", ["grid", "dram", "functional_workers", "worker_l1_size", "dram_bank_size", "arch_name"])
def test_missing_fields(field: str) -> None:
    raw = {key: value for key, value in GOOD.items() if key != field}
    with pytest.raises(Error, match=f"E0101.*'{field}' is missing"):
        fields_of(raw, "small", "small.yaml")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (changed(grid=[5, 6]), "grid"),
        (changed(grid={"x_size": 5}), "grid"),
        (changed(grid={"x_size": 5, "y_size": "6"}), "grid.y_size"),
        (changed(grid={"x_size": 5, "y_size": 10**9}), "grid.y_size"),
        (changed(grid={"x_size": -5, "y_size": 6}), "grid.x_size"),
        (changed(grid={"x_size": 3, "y_size": 6}), "functional_workers"),  # node 3-1 is not on it
        (changed(functional_workers=[]), "functional_workers"),
        (changed(functional_workers=None), "functional_workers"),
        (changed(functional_workers=["1-1", "1-1"]), "functional_workers"),
        (changed(functional_workers=["1-1", "2-2"]), "functional_workers"),  # a diagonal
        (changed(functional_workers=["1-1", "2-1", "1-2"]), "functional_workers"),
        (changed(functional_workers=["1-1", 12]), "functional_workers"),
        (changed(functional_workers=["1-1", "1--2"]), "functional_workers"),
        (changed(functional_workers=["1-9999"]), "functional_workers"),
        (changed(functional_workers={"1-1": True}), "functional_workers"),
        (changed(functional_workers=["1-1"] * 100_000), "functional_workers"),
        (changed(harvested_workers=["1-5", "2-5"]), "harvested_workers"),  # not the whole row
        (changed(harvested_workers=["1-5", "2-5", "4-5"]), "harvested_workers"),
        (changed(harvested_workers="1-5"), "harvested_workers"),
        (changed(harvested_workers=["3-1"]), "functional_workers"),  # leaves a hole
        (changed(harvested_workers=[f"{x}-{y}" for y in (1, 2, 4) for x in (1, 2, 3)]), "functional_workers"),
        (changed(dram=[]), "dram"),
        (changed(dram=["0-0"]), "dram"),
        (changed(dram=[[]]), "dram"),
        (changed(dram=[["0-0"], ["0-1", "0-2"]]), "dram"),
        (changed(dram=[["0-0", "0-1"], ["0-1", "0-2"]]), "dram"),
        (changed(dram=[["1-1", "0-1"]]), "dram"),  # a worker
        (changed(eth=["2-2"]), "eth"),
        (changed(eth=["9-9"]), "eth"),
        (changed(worker_l1_size=-1), "worker_l1_size"),
        (changed(worker_l1_size=True), "worker_l1_size"),
        (changed(worker_l1_size="1499136"), "worker_l1_size"),
        (changed(dram_bank_size=0), "dram_bank_size"),
        (changed(dram_bank_size=1 << 60), "dram_bank_size"),
        (changed(arch_name=7), "arch_name"),
        (changed(features=[1]), "features"),
        (changed(features={"math": 1}), "features"),
        (changed(features={"math": {"dst_size_alignment": -4}}), "features.math.dst_size_alignment"),
        (changed(features={"noc": {"translation_id_enabled": 3}}), "features.noc.translation_id_enabled"),
        (changed(harvested_worker=[]), "harvested_worker"),
    ],
)
def test_bad_values(change: Callable[[dict[str, Any]], None], field: str) -> None:
    raw = deepcopy(GOOD)
    change(raw)
    with pytest.raises(Error, match=f"E0101.*'{field}'") as caught:
        fields_of(raw, "small", "small.yaml")
    assert caught.value.where == "small.yaml"
