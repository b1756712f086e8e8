"""Targets that come with ttc: their figures, harvested rows."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import (
    arch_names,
    complete,
    described,
    harvest,
    is_target_file,
    load_target,
    parse_rows,
    reserved_bytes,
    target_label,
    target_names,
    target_of,
)

MIB = 1 << 20
DEVICES = [name for name in target_names() if name != "host"]


@pytest.mark.parametrize(
    ("name", "grid", "l1_usable", "channels", "channel_bytes", "alignment", "clock_hz"),
    [
        ("e75", (8, 12), 577_408, 8, 1 << 30, 32, 1.0e9),
        ("e150", (10, 12), 577_408, 8, 1 << 30, 32, 1.2e9),
        ("n150", (9, 8), 1_027_968, 6, 2 << 30, 32, 1.0e9),
        ("n300", (8, 8), 1_027_968, 6, 2 << 30, 32, 1.0e9),
        ("p100", (10, 12), 1_015_616, 7, 4 << 30, 64, 1.35e9),
        ("p150", (10, 14), 1_015_616, 8, 4 << 30, 64, 1.35e9),
    ],
)
def test_figures(
    name: str, grid: tuple[int, int], l1_usable: int, channels: int, channel_bytes: int, alignment: int, clock_hz: float
) -> None:
    target = load_target(name)
    assert (target.grid, target.cores) == (grid, grid[0] * grid[1])
    assert (target.l1_usable_bytes, target.alignment_bytes, target.clock_hz) == (l1_usable, alignment, clock_hz)
    assert (target.dram_channels, target.dram_channel_bytes) == (channels, channel_bytes)
    assert len(target.rows) == grid[0]


def test_names() -> None:
    assert target_names() == ["e150", "e75", "host", "n150", "n300", "p100", "p150"]
    assert arch_names() == ["blackhole", "grayskull", "wormhole_b0"]
    assert {name: load_target(name).chips for name in DEVICES if load_target(name).chips > 1} == {"n300": 2}


def test_host_has_no_cores() -> None:
    host = load_target("host")
    assert (host.is_host, host.layout, host.cores, host.rows) == (True, "rows", 0, ())


def test_unknown_name() -> None:
    with pytest.raises(Error, match="E0101.*n160") as caught:
        load_target("n160")
    assert caught.value.hint == "did you mean 'n150'?"


@pytest.mark.parametrize(
    ("name", "format_", "wanted"),
    [
        ("n150", "Float32", "Float32"),
        ("p150", "Float16", "Float32"),
        ("e150", "Float32", "Float16_b"),
        ("e150", "Float16", "Float16"),
        ("e75", "Float16_b", "Float16_b"),
        ("e75", "Bfp8_b", "Float16_b"),
        ("e75", "Bfp8", "Float16"),
        ("e75", "Lf8", "Float16"),
    ],
)
def test_accumulator(name: str, format_: str, wanted: str) -> None:
    assert load_target(name).accumulator(format_) == wanted


@pytest.mark.parametrize(
    ("arch", "channels", "workers", "mib"),
    [
        ("grayskull", 8, 120, 64.25 + 8),  # 15 cores a channel: the reference's own example without updates
        ("wormhole_b0", 6, 80, 8 + 32 * 120 / 1024 * (14 + 3) + 8),
        ("blackhole", 8, 140, 8 + 32 * 120 / 1024 * (18 + 2) + 8),
        ("grayskull", 1, 1, 8 + 32 * 120 / 1024 + 8),
    ],
)
def test_reserved_bytes(arch: str, channels: int, workers: int, mib: float) -> None:
    assert reserved_bytes(arch, channels, workers) == mib * MIB


def test_rates() -> None:
    n150, p150 = load_target("n150"), load_target("p150")
    assert n150.dram_bytes_per_second == 267e9
    assert n150.dram_bytes_per_cycle == 44.5
    assert p150.dram_bytes_per_second == 500e9
    assert dict(p150.noc_packets)[16384] == 60.9


@pytest.mark.parametrize("name", target_names())
def test_described_makes_an_equal_target(name: str) -> None:
    target = load_target(name)
    assert target_of(described(target), "test") == target


def test_complete_leaves_what_is_said() -> None:
    fields = complete({"name": "small", "arch": "grayskull", "chips": 1, "grid": [2, 3], "l1_usable_bytes": 100_000}, "test")
    target = target_of(fields, "test")
    assert (target.grid, target.rows, target.l1_usable_bytes, target.l1_bytes) == ((2, 3), (1, 2), 100_000, 1_048_576)


# ---- harvested rows ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"), [("1", 1), ("[3, 7]", (3, 7)), ("[7,3]", (3, 7)), ("3,7", (3, 7)), ("[11]", (11,)), (" 2 ", 2)]
)
def test_parse_rows(text: str, wanted: object) -> None:
    assert parse_rows(text) == wanted


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "[]", "[3, 3]", "1.5", "[1", "99999", "[²]", "1,,2"])
def test_rows_that_do_not_parse(text: str) -> None:
    with pytest.raises(ValueError, match="it "):
        parse_rows(text)


@pytest.mark.parametrize(
    ("name", "rows", "left"),
    [
        ("n150", 1, (1, 2, 3, 4, 5, 7, 8, 9)),
        ("n150", (3, 7), (1, 2, 4, 5, 8, 9, 10)),
        ("e150", 2, (1, 2, 3, 4, 5, 7, 8, 9)),
        ("p150", (11,), (2, 3, 4, 5, 6, 7, 8, 9, 10)),
    ],
)
def test_harvest(name: str, rows: int | tuple[int, ...], left: tuple[int, ...]) -> None:
    target = load_target(name)
    found = harvest(target, rows)
    assert found.rows == left
    assert target.grid is not None
    assert found.grid == (len(left), target.grid[1])
    assert found.dram_reserved_bytes == target.dram_reserved_bytes


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("host", 1, "no rows of cores"),
        ("n150", 10, "has 9 rows"),
        ("n150", 9, "no rows left"),
        ("n150", (6,), "row 6 .* cannot be harvested"),
        ("n150", (11,), "row 11 .* cannot be harvested"),  # it is off already
        ("e150", (0,), "row 0 .* cannot be harvested"),
        ("p150", (6,), "row 6 .* cannot be harvested"),
    ],
)
def test_rows_that_cannot_be_harvested(name: str, rows: int | tuple[int, ...], message: str) -> None:
    with pytest.raises(Error, match=f"E0101.*{message}"):
        harvest(load_target(name), rows)


# ---- names of files ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_file", "label"),
    [("n150", False, "n150"), ("a/b/chip.yaml", True, "chip"), ("chip.yml", True, "chip"), ("./chip", True, "chip")],
)
def test_target_label(name: str, is_file: bool, label: str) -> None:
    assert (is_target_file(name), target_label(name)) == (is_file, label)
