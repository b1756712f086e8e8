"""Chips that divide tensors: which chip has which part."""

from __future__ import annotations

import pytest

from ttc.dialects.core.machines.chip_groups import ChipGroups, near_groups
from ttc.dialects.core.machines.clusters import mesh
from ttc.dialects.core.machines.targets import Target, load_target


def target_of(text: str) -> Target:
    cluster = mesh(text)
    assert cluster is not None
    return cluster.of_target(load_target("n150"))


def test_counts() -> None:
    groups = ChipGroups(((0, 1, 4, 5), (2, 3, 6, 7)), 2)
    assert groups.chips == (0, 1, 4, 5, 2, 3, 6, 7)
    assert groups.columns == 2


@pytest.mark.parametrize(
    ("cluster", "groups", "rows", "found"),
    [
        ("2x4", 1, 2, ((0, 1, 4, 5, 2, 3, 6, 7),)),  # columns are divided by 2 x 2 chips, rows by two such squares
        ("2x4", 2, 4, ((0, 1, 2, 3), (4, 5, 6, 7))),  # each group is a line, the other one is beside it
        ("2x4", 2, 2, ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("2x4", 4, 2, ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("2x2", 2, 2, ((0, 1), (2, 3))),
    ],
)
def test_parts_lie_near_each_other(cluster: str, groups: int, rows: int, found: tuple[tuple[int, ...], ...]) -> None:
    target = target_of(cluster)
    assert near_groups(target, range(target.chips)[::-1], groups, rows) == ChipGroups(found, rows)


def test_chips_without_links_keep_their_order() -> None:
    assert near_groups(load_target("n150"), (0, 1, 2, 3), 2, 2).groups == ((0, 1), (2, 3))
