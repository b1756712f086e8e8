"""Ways between chips."""

from dataclasses import replace

from tests.dialects.netlist.conftest import CHIP
from ttc.dialects.netlist.links import UNBOUNDED, links_from

RING = replace(CHIP, chips=6, links=((0, 1, 4), (0, 3, 2), (1, 2, 1), (2, 3, 2), (3, 4, 8)))


def test_the_narrowest_step_of_the_widest_of_the_shortest_ways() -> None:
    """Both ways from 0 to 2 take two steps; over 1 there is one link, over 3 there are two.  No way leads to 5."""
    assert links_from(RING, 0) == {0: UNBOUNDED, 1: 4, 3: 2, 2: 2, 4: 2}
    assert links_from(RING, 1) == {1: UNBOUNDED, 0: 4, 2: 1, 3: 2, 4: 2}


def test_no_links() -> None:
    assert links_from(CHIP, 3) == {3: UNBOUNDED}
