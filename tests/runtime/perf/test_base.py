"""One core's share of an op."""

from ttc.runtime.perf.base import Share


def test_blocks_of_a_share() -> None:
    share = Share(3, 5, 8, (2, 4))
    assert (share.mblock, share.blocks, share.tiles) == ((3, 2), 18, 120)


def test_blocks_of_k_are_those_given_or_as_deep_as_usual() -> None:
    assert Share(1, 1, 1, (1, 1), inner=(4, 3)).k_blocks(12) == (4, 3)
    assert Share(1, 1, 1, (1, 1), inner=(4, 3)).k_blocks(24) == (3, 8)
    assert Share(1, 1, 1, (1, 1)).k_blocks(7) == (1, 7)
    assert Share(1, 1, 1, (1, 1)).k_blocks(0) == (1, 1)
