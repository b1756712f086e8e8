"""Ops of the stand-in for TT-NN that write into tensors which outlive a run."""

from __future__ import annotations

from tests.ttc.exporters.ttnn.stand_in_tensors import ROW_MAJOR_LAYOUT, TILE, Tensor, bfloat16, int32, tiles


def copy(source: Tensor, place: Tensor) -> Tensor:
    assert (source.shape, source.dtype) == (place.shape, place.dtype)
    place.values = tiles(source)[0].clone()
    return place


def indexed_fused_update_cache(cache: Tensor, rows: Tensor, other: Tensor, other_rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Row i goes to the cache's row places[i], counted through dimensions 0 and 2; negative places are passed over."""
    assert cache is not other
    assert rows is not other_rows
    assert (places.dtype, places.layout, places.shape[0]) == (int32, ROW_MAJOR_LAYOUT, 1)
    for held, new in ((cache, rows), (other, other_rows)):
        pages, heads, size, width = held.shape
        assert held.dtype == new.dtype == bfloat16
        assert (size % TILE, width % TILE) == (0, 0)
        assert new.shape == (1, heads, new.shape[2], width)
        assert new.shape[2] <= places.shape[1] <= 256
        tiles(held, new)
        for index in range(new.shape[2]):
            place = int(places.values[0, index])
            if 0 <= place < pages * size:
                held.values[place // size, :, place % size] = new.values[0, :, index]
    return cache, other
