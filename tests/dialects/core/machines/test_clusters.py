"""Clusters of chips: samples, tables of broken ones, rows of linked chips."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.clusters import Cluster, chips_in_a_row, read_cluster
from ttc.dialects.core.machines.targets import load_target

SAMPLES = Path(__file__).parents[3] / "data" / "device_descriptors"
PAIR = Cluster((0, 1), (0,), ((0, 1, 4),))


def test_samples() -> None:
    assert read_cluster(SAMPLES / "wormhole_2chip_cluster.yaml") == PAIR
    loop = read_cluster(SAMPLES / "wormhole_2x4_sequential_cluster.yaml")
    assert (loop.chips, len(loop.links)) == (tuple(range(8)), 10)
    assert {(a, b): count for a, b, count in loop.links}[0, 3] == 4
    target = loop.of_target(load_target("n150"))
    assert (target.chips, target.links) == (8, loop.links)
    assert chips_in_a_row(target, 8, loop.mmio, loop.chips) == tuple(range(8))


def test_text_keeps_everything() -> None:
    loop = read_cluster(SAMPLES / "wormhole_2x4_sequential_cluster.yaml")
    assert Cluster.of_text(loop.text) == loop
    assert PAIR.text == "chips 0,1 mmio 0 0-1x4"
    alone = Cluster((3,), (), ())
    assert Cluster.of_text(alone.text) == alone


@pytest.mark.parametrize("text", ["", "chips", "chips 0,1 0-2x1", "chips 0,1 1-0x1", "chips 5000", "chips 0 mmio 1", "chips 0 x", "0-1x1"])
def test_texts_that_are_no_clusters(text: str) -> None:
    with pytest.raises(Error, match="describes no cluster") as caught:
        Cluster.of_text(text)
    assert caught.value.code == "E0101"


GOOD: dict[str, Any] = {
    "chips": {0: [0, 0, 0, 0], 1: [1, 0, 0, 0], 2: [2, 0, 0, 0]},
    "ethernet_connections": [[{"chip": 0, "chan": 0}, {"chip": 1, "chan": 8}], [{"chip": 2, "chan": 1}, {"chip": 1, "chan": 9}]],
    "chips_with_mmio": [{0: 1}],
    "harvesting": {0: {"noc_translation": True}},
}


def test_mmio_chips_may_come_with_the_number_of_their_bus(tmp_path: Path) -> None:
    assert read(GOOD, tmp_path) == Cluster((0, 1, 2), (0,), ((0, 1, 1), (1, 2, 1)))


def read(raw: object, folder: Path) -> Cluster:
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(raw))
    return read_cluster(path)


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no chips": (lambda d: d.pop("chips"), "field 'chips' is missing"),
    "no links": (lambda d: d.pop("ethernet_connections"), "field 'ethernet_connections' is missing"),
    "an unknown field": (lambda d: d.update(chip=1), "field 'chip' is unknown"),
    "chips in a list": (lambda d: d.update(chips=[0, 1]), "takes numbers of chips"),
    "a chip by name": (lambda d: d["chips"].update(a=[0]), "field 'chips' names no chip"),
    "a huge chip": (lambda d: d["chips"].update({1 << 40: [0]}), "field 'chips' names no chip"),
    "mmio of a stranger": (lambda d: d.update(chips_with_mmio=[7]), "names chip 7, which is not among the chips"),
    "mmio in a map": (lambda d: d.update(chips_with_mmio={0: 1}), "takes a list of chips"),
    "links in a map": (lambda d: d.update(ethernet_connections={}), "takes a list of pairs of ends"),
    "a link of one end": (lambda d: d["ethernet_connections"][0].pop(), "takes pairs of ends"),
    "a link to itself": (lambda d: d["ethernet_connections"][0][1].update(chip=0), "joins chip 0 with itself"),
    "a link to a stranger": (lambda d: d["ethernet_connections"][0][1].update(chip=9), "names chip 9"),
    "a channel used twice": (lambda d: d["ethernet_connections"][1][1].update(chan=8), "joins channel 8 of chip 1 twice"),
    "a channel by name": (lambda d: d["ethernet_connections"][0][0].update(chan="x"), "names no channel"),
    "a channel too many": (lambda d: d["ethernet_connections"][0][0].update(chan=4096), "names no channel"),
    "an end with more": (lambda d: d["ethernet_connections"][0][0].update(port=1), "takes ends as"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_files_name_the_field(change: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    raw = deepcopy(GOOD)
    change(raw)
    with pytest.raises(Error, match=message) as caught:
        read(raw, tmp_path)
    assert caught.value.code == "E0101"


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"chips: &a {0: *a}", b"[1, 2]", b"chips: {0: [0]}\n" + b"#" * (1 << 16)])
def test_files_that_are_no_descriptors(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_bytes(content)
    with pytest.raises(Error) as caught:
        read_cluster(path)
    assert caught.value.code == "E0102"


# ---- rows of chips -----------------------------------------------------------------------------------------------------------------------

N150 = load_target("n150")


def grid(rows: int, cols: int) -> tuple[tuple[int, int, int], ...]:
    """Links of chips in a rectangle, numbered row by row."""
    across = [(r * cols + c, r * cols + c + 1, 4) for r in range(rows) for c in range(cols - 1)]
    down = [(r * cols + c, r * cols + c + cols, 4) for r in range(rows - 1) for c in range(cols)]
    return tuple(sorted(across + down))


@pytest.mark.parametrize(("rows", "cols"), [(1, 2), (2, 4), (4, 8), (16, 16)])
def test_all_chips_of_a_rectangle_form_a_row(rows: int, cols: int) -> None:
    target = replace(N150, chips=rows * cols, links=grid(rows, cols))
    found = chips_in_a_row(target, rows * cols)
    assert sorted(found) == list(range(rows * cols))
    joined = {link[:2] for link in target.links}
    assert all((min(pair), max(pair)) in joined for pair in zip(found, found[1:], strict=False))


def test_the_search_ends_where_there_is_no_row() -> None:
    """A star of many chips has rows of three alone; so has a star of pairs, of five."""
    star = replace(N150, chips=400, links=tuple((0, chip, 1) for chip in range(1, 400)))
    with pytest.raises(Error, match="no 4 chips"):
        chips_in_a_row(star, 4)
    pairs = replace(N150, chips=401, links=tuple(sorted(link for c in range(1, 400, 2) for link in ((0, c, 1), (c, c + 1, 1)))))
    assert len(chips_in_a_row(pairs, 5)) == 5


def test_rows_begin_where_the_host_is() -> None:
    target = replace(N150, chips=3, links=((0, 1, 1), (1, 2, 1)))
    assert chips_in_a_row(target, 3, [2]) == (2, 1, 0)
    assert chips_in_a_row(target, 3, [1]) == (0, 1, 2)  # from the middle no row has all three
    assert chips_in_a_row(target, 1, [1]) == (1,)


@pytest.mark.parametrize(
    ("target", "count", "message"),
    [
        (N150, 2, "target n150 has 1 chip, not 2"),
        (load_target("n300"), 3, "target n300 has 2 chips, not 3"),
        (replace(N150, chips=4, links=((0, 1, 1), (2, 3, 1))), 3, "no 3 chips of which each is linked to the next"),
        (replace(N150, chips=2), 2, "no 2 chips of which each is linked to the next"),
    ],
)
def test_chips_that_are_not_there(target: Any, count: int, message: str) -> None:
    with pytest.raises(Error, match=message) as caught:
        chips_in_a_row(target, count)
    assert caught.value.code == "E0101"


@pytest.mark.parametrize("name", ["host", "e150"])
def test_chips_without_ethernet(name: str) -> None:
    with pytest.raises(Error, match="have no Ethernet links") as caught:
        PAIR.of_target(load_target(name))
    assert caught.value.code == "E0101"
