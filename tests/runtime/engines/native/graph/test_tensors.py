"""Views: what they show is what numpy's show."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View, dense

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def seen(view: View, memory: NDArray) -> NDArray:
    """The elements of a view of float32 memory."""
    return np.lib.stride_tricks.as_strided(memory[view.offset :], view.shape, [4 * s for s in view.strides])


@settings(max_examples=200)
@given(SHAPES, st.data())
def test_views_move_as_arrays_do(shape: tuple[int, ...], data: st.DataObject):
    memory = np.arange(np.prod(shape), dtype=np.float32)
    view, array = dense(PlanBuffer(memory.nbytes), "f32", shape), memory.reshape(shape)
    order = data.draw(st.permutations(range(len(shape))))
    view, array = view.permuted(order), array.transpose(order)
    axis = data.draw(st.integers(0, len(shape) - 1))
    start = data.draw(st.integers(0, view.shape[axis] - 1))
    size = data.draw(st.integers(1, view.shape[axis] - start))
    view, array = view.sliced(axis, start, size), np.take(array, range(start, start + size), axis)
    assert np.array_equal(seen(view, memory), array)
    index = data.draw(st.integers(0, size - 1))
    assert np.array_equal(seen(view.at(index, axis), memory), np.take(array, index, axis))
    assert view.is_dense == np.array_equal(memory[view.offset : view.offset + view.elements], array.reshape(-1))
    flat = view.reshaped((view.elements,))
    if flat is not None:
        assert np.array_equal(seen(flat, memory), array.reshape(-1))
    wide = view.expanded((2, *view.shape))
    assert np.array_equal(seen(wide, memory), np.broadcast_to(array, (2, *view.shape)))


def test_dimensions_split_and_join_without_a_move_where_they_can():
    view = dense(PlanBuffer(4 * 128 * 768), "f32", (1, 128, 768))
    heads = view.reshaped((1, 128, 12, 64))
    assert heads is not None
    moved = heads.permuted((0, 2, 1, 3))
    assert (moved.shape, moved.strides[1:]) == ((1, 12, 128, 64), (64, 768, 1))
    assert moved.reshaped((1, 12, 8192)) is None
    back = moved.permuted((0, 2, 1, 3)).reshaped((1, 128, 768))
    assert back is not None
    assert back.is_dense
    assert moved.merged() == ((12, 64), (128, 768), (64, 1))
    assert view.rows_from(2)
    assert moved.rows_from(3)
    assert not moved.rows_from(2)
