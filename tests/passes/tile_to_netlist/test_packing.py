"""Rectangles on a grid: none overlap, none leave it, full grids are found, impossible ones refused."""

from itertools import product

from ttc.dialects.netlist.model import Grid
from ttc.passes.tile_to_netlist.packing import Request, pack, pack_requests


def cells(places):
    return [core for place in places for core in place.cores()]


def test_rectangles_do_not_overlap_and_stay_on_the_grid():
    for sizes in product([(1, 1), (2, 3), (4, 2), (1, 8), (3, 3)], repeat=4):
        places = pack(sizes, 9, 8)
        assert places is not None
        used = cells(places)
        assert len(used) == len(set(used)) == sum(r * c for r, c in sizes)
        assert all(0 <= r < 9 and 0 <= c < 8 for r, c in used)


def test_the_whole_grid_can_be_taken():
    places = pack([(9, 4), (9, 4)], 9, 8)
    assert places is not None
    assert len(set(cells(places))) == 72


def test_a_rectangle_is_laid_on_its_side_when_it_fits_only_so():
    (place,) = pack([(1, 9)], 9, 8) or [None]
    assert place is not None
    assert place.transposed
    assert cells([place]) == [(r, 0) for r in range(9)]


def test_too_much_is_refused():
    assert pack([(9, 8), (1, 1)], 9, 8) is None
    assert pack([(10, 1)], 9, 8) is None


def test_the_first_shape_that_fits_is_taken():
    found = pack_requests([Request(((9, 7),)), Request(((3, 3), (9, 1)))], 9, 8)
    assert found is not None
    assert [number for number, _ in found] == [0, 1]
    assert pack_requests([Request(((9, 7),)), Request(((3, 3), (2, 2)))], 9, 8) is None


def test_what_has_a_start_stands_there():
    found = pack_requests([Request(((2, 8),)), Request(((1, 4),), start=(0, 2), transposed=True)], 9, 8)
    assert found is not None
    assert found[1][1] == Grid(0, 2, 1, 4, transposed=True)
    assert found[0][1].row == 4
    assert pack_requests([Request(((2, 2),), start=(8, 0))], 9, 8) is None
    assert pack_requests([Request(((2, 2),), start=(0, 0)), Request(((1, 1),), start=(1, 1))], 9, 8) is None


def test_one_order_after_another_is_tried():
    """Four rectangles that fill the grid to the last core."""
    sizes = [(4, 5), (4, 3), (5, 5), (5, 3)]
    places = pack(sizes, 9, 8)
    assert places is not None
    assert len(set(cells(places))) == 72
