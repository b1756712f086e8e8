"""Ways between chips."""

from ttc.dialects.core.machines.ways import ways_from


def test_ways_step_by_step() -> None:
    """A ring of four chips, a fifth beside it; no way leads to others.  Of ways as short, that over the lower numbers is taken."""
    assert ways_from(((0, 1, 4), (0, 3, 2), (1, 2, 1), (2, 3, 2), (3, 4, 8), (5, 6, 1)), 4) == {
        4: (),
        3: ((4, 3, 8),),
        0: ((4, 3, 8), (3, 0, 2)),
        2: ((4, 3, 8), (3, 2, 2)),
        1: ((4, 3, 8), (3, 0, 2), (0, 1, 4)),
    }


def test_no_links() -> None:
    assert ways_from((), 3) == {3: ()}
