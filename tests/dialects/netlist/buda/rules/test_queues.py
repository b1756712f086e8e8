"""Queues: one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        ("base", ("{input: HOST, type: queue, entries: 4, ", "{type: queue, entries: 4, "), "E0614", "queue 'x'", "input is missing"),
        ("base", ("    entries: 1\n    grid", "    grid"), "E0614", "queue 'cache'", "entries is missing"),
        ("base", ("    target_device: 0\n    loc: dram", "    loc: dram"), "E0614", "queue 'cache'", "target_device is missing"),
        ("base", ("    entries: 1\n    grid", "    entries: 0\n    grid"), "E0615", "queue 'cache'", "at least 1, not 0"),
        ("base", ("  mid:  {input: act,", "  mid:  {input: atc,"), "E0601", "queue 'mid'", "'atc' is no op"),
        ("base", ("    loc: dram\n    dram:", "    loc: dram\n    host:"), "E0614", "queue 'cache'", "gives no addresses there"),
        ("base", ("[[3, 0x20000000], [4, 0x20000000]]", "[[3, 0x20000000]]"), "E0617", "queue 'mid'", "1 addresses for the 2 buffers"),
        ("chips", ("read_ports: [1]", "read_ports: [3]"), "E0618", "queue 'x'", "0 to 2"),
        ("chips", ("write_ports: [2]", "write_ports: [2, 1]"), "E0618", "queue 'x'", "2 write_ports for 1 buffers"),
        ("chips", ("alias: big", "alias: view"), "E0619", "queue 'view'", "alias of itself"),
        ("chips", ("alias: big", "alias: bgi"), "E0601", "queue 'view'", "no queue 'bgi'"),
        ("chips", ("alias: big", "alias: grad"), "E0619", "queue 'view'", "its buffers are not those of 'grad'"),
        ("chips", ("alias: big, entries: 2", "alias: big, entries: 3"), "E0619", "queue 'view'", "3 entries of 8 tiles"),
        ("grayskull", ("[[7, 0x20000000]]}", "[[7, 0x20000000]], read_ports: [0]}"), "E0618", "queue 'w'", "has one port"),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only(name, changes, code, place, part)


def test_an_alias_of_an_alias_and_of_a_queue(broken: Callable[..., list[object]]) -> None:
    chain = broken("chips", ("input: keep, type: ram, entries", "input: keep, type: ram, alias: view, entries"))
    assert sum("is itself one of" in str(found) for found in chain) == 2
    queue = broken("chips", ("type: ram, alias: big", "type: queue, alias: big"))
    assert any("only rams have aliases" in str(found) for found in queue)


def test_manipulations_before_a_queue(only: Callable[..., None]) -> None:
    only("ops", ("  y7: {input: tilizer,", "  y7: {input: tilizer, input_tms: [pad: [0, 0, 1.0]],"), "E0623", "queue 'y7'", "cannot pad")
    only(
        "ops",
        ("  y7: {input: tilizer,", "  y7: {input: tilizer, input_tms: [hslice: 3],"),
        "E0623",
        "queue 'y7'",
        "does not divide columns 2",
    )
