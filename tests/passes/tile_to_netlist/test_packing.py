"""Rectangles on a grid: none overlap, none leave it, full grids are found, impossible ones refused."""

from itertools import product

from ttc.passes.tile_to_netlist.packing import pack


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
