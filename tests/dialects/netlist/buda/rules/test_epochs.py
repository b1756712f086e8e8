"""Graphs of one epoch, and graphs that never run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.rules.context import Context, arch_named
from ttc.dialects.netlist.buda.rules.epochs import temporal_epochs

FAR = "    target_device: 1\n    input_count: 1\n"
RUN = "      - execute: {graph_name: far, queue_settings: {}}\n"


@pytest.mark.parametrize(
    ("changes", "code", "place", "part"),
    [
        ((FAR, "    target_device: 1\n    input_count: 2\n"), "E0654", "graph 'far'", "input_count 2, but 1 in graph 'here'"),
        ((RUN, RUN + RUN), "E0654", "graph 'far'", "executes it 2 times, but graph 'here', which runs in the same epoch, 1 times"),
        (
            (
                "graph_name: g3, queue_settings: {\n          both: {prologue: false, "
                "epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g}}}",
                "graph_name: far, queue_settings: {}}\n      - execute: {graph_name: here, queue_settings: {\n          "
                "x: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g}}}",
            ),
            "E0654",
            "graph 'g3'",
            "no program executes it",
        ),
    ],
)
def test_one_broken_rule(only: Callable[..., None], changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only("chips", changes, code, place, part)


def test_epochs_are_joined_by_edges_between_devices() -> None:
    from pathlib import Path

    netlist = read_netlist(Path(__file__).resolve().parents[4] / "data" / "netlists" / "small" / "chips.yaml")
    epochs = temporal_epochs(Context(netlist, arch_named("wormhole_b0")))
    assert [[graph.name for graph in members] for members in epochs] == [["here", "far"], ["g0"], ["g1"], ["g2"], ["g3"]]
