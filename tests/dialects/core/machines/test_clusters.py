"""Clusters of chips: samples, tables of broken ones, rows of linked chips."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.chip_rows import chips_in_a_row
from ttc.dialects.core.machines.clusters import Cluster, mesh, read_cluster
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


@pytest.mark.parametrize("name", ["host", "e150"])
def test_chips_without_ethernet(name: str) -> None:
    with pytest.raises(Error, match="have no Ethernet links") as caught:
        PAIR.of_target(load_target(name))
    assert caught.value.code == "E0101"


def test_a_rectangle_of_chips() -> None:
    """Chips are numbered row by row; links to each neighbour are a quarter of a chip's."""
    found = mesh("2x3")
    assert found is not None
    target = found.of_target(load_target("n150"))
    assert target.links == ((0, 1, 4), (0, 3, 4), (1, 2, 4), (1, 4, 4), (2, 5, 4), (3, 4, 4), (4, 5, 4))
    assert (target.chips, target.host_links) == (6, 6)
    assert found.of_target(load_target("n300")).host_links == 3  # one a card
    assert Cluster.of_text(found.text) == found
    assert mesh("cluster.yaml") is None
    for text in ("1x1", "0x4", "999x999"):
        with pytest.raises(Error, match="from 2 to") as caught:
            mesh(text)
        assert caught.value.code == "E0101"
