"""The first microbatch through an epoch: parts that are handed on, sums that are whole late, paths that part and join."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.passes.tile_to_netlist.filling import filled, fills
from ttc.runtime.perf.simulate import Network, Pipe, SimulatedStage, simulate

CHAIN = [(), (0,), (1,), (2,)]


def column(*values: float) -> np.ndarray:
    """Figures of ops at one setting."""
    return np.array(values, np.float64)[:, None]


def test_ops_that_hand_on_parts_work_at_the_same_time() -> None:
    busy = column(800, 1600, 800)
    assert list(filled(CHAIN, 0, busy, busy / 8)[:, 0]) == [800, 1700, 1800]


def test_nothing_is_handed_on_before_a_sum_is_whole() -> None:
    """The second op hands on its results when it is through, so that the third begins then."""
    busy = column(800, 1600, 800)
    assert list(filled(CHAIN, 0, busy, column(100, 1600, 100))[:, 0]) == [800, 1700, 2500]


def test_paths_side_by_side_count_once() -> None:
    busy = column(800, 800, 800, 800)
    assert filled([(), (0,), (0,), (1, 2)], 0, busy, busy)[-1, 0] == 2400


def test_what_comes_from_before_the_epoch_is_there() -> None:
    busy = column(800, 800)
    assert list(filled([(0, 1), (2,)], 2, busy, busy)[:, 0]) == [800, 1600]


@pytest.mark.parametrize("bursts", [(8, 8, 8, 8), (8, 1, 8, 8), (1, 8, 1, 8), (8, 2, 8, 1), (4, 2, 1, 8)])
@pytest.mark.parametrize("busy", [(800.0, 1600.0, 400.0, 2400.0), (3200.0, 400.0, 1600.0, 800.0)])
def test_it_is_near_what_the_simulation_shows(bursts: tuple[int, ...], busy: tuple[float, ...]) -> None:
    """Stages with room for two microbatches between them; results that come in parts are interpolated, within a tenth."""
    stages = tuple(SimulatedStage(str(i), each / 8, bursts=n if n < 8 else 0) for i, (each, n) in enumerate(zip(busy, bursts, strict=True)))
    network = Network(stages, tuple(Pipe(i, i + 1, 16) for i in range(3)), 8)
    first = np.array(busy) / np.array(bursts)
    assert filled(CHAIN, 0, column(*busy), column(*first))[-1, 0] == pytest.approx(simulate(network, 1).finished[0], rel=0.1)


def test_all_epochs_at_once_are_each_by_itself() -> None:
    draw = np.random.default_rng(5)
    reads = [tuple(sorted({int(i) for i in draw.integers(0, n, size=2)})) if n else () for n in range(23)]
    busy = draw.uniform(100, 1000, (23, 4))
    first = busy / draw.choice([1, 2, 8], (23, 4))
    for begins in (range(6), range(6, 17), range(17, 23)):
        for begin, found in zip(begins, fills(reads, busy, first, begins, 9), strict=True):
            own = slice(begin, begin + 9)
            assert np.allclose(found, filled(reads[own], begin, busy[own], first[own]))
