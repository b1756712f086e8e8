"""Sections and architectures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.violations import Violation


@pytest.mark.parametrize(
    ("changes", "code", "where", "message"),
    [
        (("queues:\n", "queus:\n"), "E0612", "n:4", "there is no section queues"),
        (("programs:\n", "extra:\n"), "E0612", "n", "there is no section programs"),
        (("arch: wormhole_b0", "arch: wormhole_b1"), "E0615", "n:2: devices", "there is no architecture 'wormhole_b1'"),
        (("arch: wormhole_b0", "arhc: wormhole_b0"), "E0613", "n:3: devices", "there is no field 'arhc'"),
        (("arch: wormhole_b0", "arch: []"), "E0615", "n:3: devices", "arch takes 1 to 256 values, not 0"),
        (("  arch: wormhole_b0\n", "  {}\n"), "E0614", "n:2: devices", "no architecture: arch is missing"),
        (("graphs:\n", "graphs: 3\nmore:\n"), "E0612", "n:22", "section graphs is a map, not '3'"),
        (("programs:\n  - run:\n", "programs:\n  run:\n"), "E0612", "n:54", "section programs is a list of programs, not a map"),
    ],
)
def test_one_broken_rule(broken: Callable[..., list[Violation]], changes: tuple[str, str], code: str, where: str, message: str) -> None:
    found = broken("base", changes)
    assert (found[0].code, found[0].where, found[0].message) == (code, where, message)
    assert {v.code for v in found} == {code} or changes[0] == "graphs:\n"


def test_queues_come_before_graphs(broken: Callable[..., list[Violation]]) -> None:
    text = "devices: {arch: grayskull}\ngraphs: {}\nqueues: {}\nprograms: []\n"
    from ttc.dialects.netlist.buda.reader import read_form
    from ttc.dialects.netlist.buda.rules.check import check_form

    form, found = read_form(text.encode(), "n")
    assert [(v.code, v.where, v.message) for v in check_form(form, None, found)] == [
        ("E0612", "n:3", "section queues comes after graphs, which needs it")
    ]
