"""Ways between chips."""

from dataclasses import replace

from tests.dialects.netlist.conftest import CHIP
from ttc.dialects.netlist.links import links_between

RING = replace(CHIP, chips=6, links=((0, 1, 4), (0, 3, 2), (1, 2, 1), (2, 3, 2), (3, 4, 8)))


def test_neighbours() -> None:
    assert links_between(RING, 0, 1) == links_between(RING, 1, 0) == 4


def test_the_widest_of_the_shortest_ways() -> None:
    """Both ways from 0 to 2 take two steps; over 1 there is one link, over 3 there are two."""
    assert links_between(RING, 0, 2) == 2
    assert links_between(RING, 1, 4) == 2


def test_no_way_and_no_links() -> None:
    assert links_between(RING, 0, 5) == 0
    assert links_between(RING, 2, 2) is None
    assert links_between(CHIP, 0, 1) is None
