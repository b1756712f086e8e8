"""Where buffers lie, and what they share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.violations import Violation


@pytest.mark.parametrize(
    ("name", "changes", "place", "part"),
    [
        ("base", ("[[5, 0x20000000]]", "[[6, 0x20000000]]"), "queue 'cache'", "no dram channel 6"),
        ("base", ("[[5, 0x20000000]]", "[[-1, 0x20000000]]"), "queue 'cache'", "no dram channel -1"),
        ("base", ("[[5, 0x20000000]]", "[[5, 0x20000010]]"), "queue 'cache'", "0x20000010 is not a multiple of 32"),
        ("base", ("[[5, 0x20000000]]", "[[5, 0x80000000]]"), "queue 'cache'", "not inside the 2147483648 bytes"),
        ("base", ("[[5, 0x20000000]]", "[[5, -32]]"), "queue 'cache'", "not inside"),
        ("base", ("host: [0x0]", "host: [0x40000000]"), "queue 'y'", "host channel 0"),
        ("base", ("[[2, 0x20000000]]", "[[1, 0x20000000]]"), "queue 'w'", "0x20000000 to 0x20004600 of channel 1 of device 0 overlap"),
        ("base", ("[[2, 0x20000000]]", "[[1, 0x200045e0]]"), "queue 'bias'", "of queue 'w'"),
        ("base", ("[[3, 0x20000000], [4, 0x20000000]]", "[[3, 0x20000000], [3, 0x20001000]]"), "queue 'mid'", "of queue 'mid'"),
        ("chips", ("[[5, 0x20000000]]", "[[0, 0x20000000]]"), "queue 'both'", "channel 0 of device 0"),
        (
            "chips",
            (
                "      - deallocate_queue: [hold]\n      - allocate_queue: [later]\n",
                "      - allocate_queue: [later]\n      - deallocate_queue: [hold]\n",
            ),
            "queue 'later'",
            "of queue 'hold'",
        ),
        ("chips", (("type: ram, alias: big,", "type: ram,"), ("read_only: true", "read_only: false")), "queue 'view'", "of queue 'big'"),
        ("grayskull", ("[[1, 0x20000000]]", "[[1, 0x40000000]]"), "queue 'y'", "1073741824 bytes"),
    ],
)
def test_one_broken_rule(
    only: Callable[..., None], name: str, changes: tuple[str, str] | tuple[tuple[str, str], ...], place: str, part: str
) -> None:
    only(name, changes, "E0605", place, part)


def test_a_view_that_is_only_read(broken: Callable[..., list[Violation]]) -> None:
    assert broken("chips", ("type: ram, alias: big,", "type: ram,")) == []


def test_alignment_of_the_least_architecture_listed(broken: Callable[..., list[Violation]]) -> None:
    assert broken("ops", ("[[0, 0x20000000]]", "[[0, 0x20000020]]"), arch="blackhole") == []
    changes = (("arch: [wormhole_b0, blackhole]", "arch: blackhole"), ("[[0, 0x20000000]]", "[[0, 0x20000020]]"))
    assert [v.code for v in broken("ops", *changes)] == ["E0605"]


def test_a_netlist_that_was_not_placed(broken: Callable[..., list[Violation]]) -> None:
    changes = [(f"[[{channel}, 0x20000000]]", "[[0, 0x20000000]]") for channel in (1, 2, 3)]
    assert broken("fused", *changes) == []
    assert [v.code for v in broken("fused", *changes[:2])] == ["E0605"] * 2
