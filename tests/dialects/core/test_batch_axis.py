"""Where tensors carry batches: what reshapes make of a place, parts and what they are put together to."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.batch_axis import OUTERMOST, BatchAxis
from ttc.dialects.core.errors import Error


@pytest.mark.parametrize(
    ("elements", "shape", "found"),
    [
        (1, (6, 4), OUTERMOST),
        (1, (24,), OUTERMOST),
        (1, (1, 6, 4), BatchAxis(1)),
        (4, (4, 6, 5), BatchAxis(1)),
        (4, (24, 5), BatchAxis(0, 4)),
        (4, (2, 12, 5), BatchAxis(1, 2)),
        (8, (4, 12, 5), BatchAxis(1, 2)),
        (4, (8, 3, 5), None),
        (4, (3, 8, 5), None),
        (1, (2, 3, 4), None),
        (1, (5, 4), None),
        (1, (0, 6), None),
        (1, (), None),
    ],
)
def test_samples_behind_so_many_runs(elements: int, shape: tuple[int, ...], found: BatchAxis | None) -> None:
    assert BatchAxis.behind(elements, shape, 6) == found
    assert found is None or found.before(shape) == elements


@pytest.mark.parametrize("at", [OUTERMOST, BatchAxis(0, 2), BatchAxis(1), BatchAxis(1, 3), BatchAxis(2)])
def test_parts_make_up_the_whole(at: BatchAxis) -> None:
    """Sample k of 4 has index k, k + 4, ... of the dimension, counted in steps of as many rows as it has in a run."""
    x = np.arange(8 * 12 * 4).reshape(8, 12, 4)
    parts = at.parts(x, 4)
    rows = x.shape[at.axis] // (4 * at.runs)
    samples = np.arange(x.shape[at.axis]) // rows % 4
    assert [part.tolist() for part in parts] == [x.compress(samples == k, at.axis).tolist() for k in range(4)]
    np.testing.assert_array_equal(at.joined(parts), x)
    assert at.resized(x.shape, 4, 1) == parts[0].shape
    assert (at.samples(x.shape), at.fits(x.shape, 4), at.fits(x.shape, 5)) == (4 * rows, True, False)


def test_parts_of_nothing() -> None:
    parts = OUTERMOST.parts(np.zeros((4, 0), np.float32), 2)
    assert [part.shape for part in parts] == [(2, 0), (2, 0)]
    assert OUTERMOST.joined(parts).shape == (4, 0)


@pytest.mark.parametrize("at", [BatchAxis(2), BatchAxis(-1), BatchAxis(0, 0), BatchAxis(0, 3), BatchAxis(1)])
def test_places_that_there_are_not(at: BatchAxis) -> None:
    with pytest.raises(Error) as caught:
        at.parts(np.zeros((4, 3)), 2)
    assert caught.value.code == "E0602"
