"""Locations: which objects of the source an op came from."""

from __future__ import annotations

from ttc.dialects.core.ir.locations import MAX_SOURCES, fused_location, named_location, source_names


def test_fusion_keeps_each_name_once_and_in_order() -> None:
    first = fused_location([named_location("a"), named_location("b")])
    assert source_names(fused_location([first, named_location("c"), named_location("a")])) == ("a", "b", "c")


def test_fusions_of_fusions_keep_the_first_names() -> None:
    location = named_location("n0")
    for number in range(1, 1000):
        location = fused_location([location, named_location(f"n{number}")])
    assert source_names(location) == tuple(f"n{number}" for number in range(MAX_SOURCES))
