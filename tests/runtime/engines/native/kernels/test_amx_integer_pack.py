"""Panels of bytes: what is in them, and the sums of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from tests.runtime.engines.native.jobs.test_copies import LEVELS, Recorder, execute, view_of
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.amx_integer_products import byte_panels
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.amx_integer_pack import COLUMN_SUMS, byte_chunks, byte_panel_bytes


class _Recorder(Recorder):
    """Whose temporaries have memory, full of ones."""

    def temp(self, shape: Sequence[int], storage: Storage) -> View:
        return view_of(np.full(shape, -1, array_dtype(storage)), storage)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("storage", ["i8", "i16", "i32"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 33, 31), (1, 64, 64), (3, 7, 33), (2, 66, 5)])
def test_four_channels_lie_side_by_side(level: str, storage: Storage, shape: tuple[int, int, int], rng: np.random.Generator) -> None:
    taps, depth, columns = shape
    b = rng.integers(-128, 128, (taps * depth, columns)).astype(array_dtype(storage))
    recorder = _Recorder(host_cpu().limited_to(level))
    panels = byte_panels(cast("Lowering", recorder), view_of(b, storage), taps)
    execute(recorder)
    array = panels.view.buffer.array
    assert array is not None
    whole = array.reshape(panels.count, byte_panel_bytes(depth, taps))
    sums = np.ascontiguousarray(whole[:, :COLUMN_SUMS]).view(np.int32)
    tiles = whole[:, COLUMN_SUMS:].reshape(panels.count, taps, byte_chunks(depth), 2, 16, 16, 4)
    found = tiles.transpose(1, 2, 4, 6, 0, 3, 5).reshape(taps, byte_chunks(depth) * 64, panels.count * 32)
    expected = np.zeros_like(found)
    expected[:, :depth, :columns] = b.reshape(taps, depth, columns)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(sums.ravel(), expected.astype(np.int32).sum((0, 1)))
