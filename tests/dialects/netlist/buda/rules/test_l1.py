"""The least that an op needs of a core."""

from __future__ import annotations

from collections.abc import Callable


def test_an_output_buffer_larger_than_l1(only: Callable[..., None]) -> None:
    only("base", ("      buf_size_mb: 2\n", "      buf_size_mb: 2000\n"), "E0604", "op 'product'", "but L1 of wormhole_b0 has 1499136")


def test_double_buffering_can_be_given_up(broken: Callable[..., list[object]]) -> None:
    tile, fits = 2080, 1499136
    inputs = (2 + 8 + 4) * tile - 8 * (tile - 1120)  # a ublock of each; the second in Bfp8_b
    blocks = (fits - inputs) // (8 * tile)
    assert broken("base", ("      buf_size_mb: 2\n", f"      buf_size_mb: {2 * blocks}\n")) == []
    assert broken("base", ("      buf_size_mb: 2\n", f"      buf_size_mb: {2 * blocks + 1}\n")) != []
