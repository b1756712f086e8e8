"""Geometry of windows."""

from __future__ import annotations

import pytest

from ttc.runtime.engines.native.graph.tensors import PlanBuffer, dense
from ttc.runtime.engines.native.jobs.convolutions import Images, WindowAxis, in_runs


def images(x: WindowAxis, channels: int = 3, depth: int = 3) -> Images:
    return Images(dense(PlanBuffer(4096), "f32", (1, 8, x.size, channels)), WindowAxis(8, 6, 3, 1, 1, 0), x, depth)


def test_taps_side_by_side_are_one_run() -> None:
    found = in_runs(images(WindowAxis(8, 3, 3, 2, 1, 0)))
    assert (found.x.taps, found.depth) == (1, 9)


@pytest.mark.parametrize(
    "x", [WindowAxis(8, 8, 3, 1, 1, 1), WindowAxis(8, 4, 3, 1, 2, 0), WindowAxis(8, 8, 3, 1, 1, 0), WindowAxis(8, 8, 1, 1, 1, 0)], ids=str
)
def test_borders_gaps_and_single_taps_are_not(x: WindowAxis) -> None:
    given = images(x)
    assert in_runs(given) == given


def test_a_group_of_channels_is_no_run() -> None:
    assert in_runs(images(WindowAxis(8, 6, 3, 1, 1, 0), channels=6, depth=3)).depth == 3


@pytest.mark.parametrize(
    ("axis", "inside"),
    [
        (WindowAxis(8, 6, 3, 1, 1, 0), True),
        (WindowAxis(8, 3, 3, 2, 1, 0), True),
        (WindowAxis(8, 7, 3, 1, 1, 0), False),
        (WindowAxis(8, 6, 3, 1, 1, 1), False),
        (WindowAxis(8, 6, 3, 1, -1, 0), False),
    ],
    ids=str,
)
def test_windows_are_inside_if_none_of_their_taps_meets_a_border(axis: WindowAxis, inside: bool) -> None:
    assert axis.is_inside == inside
