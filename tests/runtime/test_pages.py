"""Aligned memory."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.runtime.pages import ALIGNMENT, LEAST_PAGES_BYTES, aligned_bytes, aligned_words


@pytest.mark.parametrize("count", [1, 63, LEAST_PAGES_BYTES - 1, LEAST_PAGES_BYTES, (1 << 21) + 1])
def test_memory_is_aligned_zeroed_and_as_large_as_asked_for(count: int) -> None:
    found = aligned_bytes(count)
    assert (found.dtype, found.size, found.ctypes.data % ALIGNMENT) == (np.uint8, count, 0)
    assert not found.any()
    found[...] = 1
    assert found.sum() == count


def test_words() -> None:
    found = aligned_words(3)
    assert (found.tolist(), found.ctypes.data % ALIGNMENT) == ([0, 0, 0], 0)


def test_more_than_there_can_be_is_an_error() -> None:
    with pytest.raises(MemoryError):
        aligned_bytes(1 << 62)
