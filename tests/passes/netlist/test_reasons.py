"""Remarks on candidates: the one taken, those beside it, those too large for L1."""

from __future__ import annotations

from tests.passes.tile_to_netlist.made import candidate, chain, small
from ttc.dialects.netlist.model import Grid
from ttc.passes.netlist.reasons import considered, decided
from ttc.passes.tile_to_netlist.blocking import Blockings
from ttc.passes.tile_to_netlist.epochs import EpochRange, Placed
from ttc.passes.tile_to_netlist.refusals import TooLarge

ONE, TWO, FOUR = candidate(1, 1, 400), candidate(1, 2, 220), candidate(2, 2, 130)
FOUND = Blockings((ONE, TWO, FOUR), (ONE, TWO, FOUR), (), (TooLarge(1, 3, 2_000_000, (4, 4)),))


def epoch() -> EpochRange:
    """The op on two cores, and another one that is slower."""
    slow = candidate(1, 1, 300)
    return EpochRange(0, (Placed(TWO, Grid(0, 0, 1, 2), TWO.buffers), Placed(slow, Grid(1, 0, 1, 1), slow.buffers)), 0.0)


def test_candidates_and_verdicts() -> None:
    problem = chain([FOUND, FOUND], small(), 8)
    rows = considered(FOUND, TWO, epoch(), problem)
    assert [row["grid"] for row in rows] == [[1, 2], [1, 1], [2, 2], [1, 3]]
    assert rows[0] == {"grid": [1, 2], "cores": 2, "cycles": 220, "l1_bytes": 4160, "verdict": "chosen"}
    assert rows[1]["verdict"] == "slower: 1.33 times the pace of the epoch"
    assert rows[2]["verdict"] == "takes 2 more cores: 1 are free, and the pace is another op's"
    assert rows[3]["verdict"] == "needs 2,000,000 bytes of L1, 1,027,968 are usable"


def test_what_decided() -> None:
    assert decided(TWO, epoch()) == "0.73 times the pace of its epoch"
    assert decided(epoch().ops[1].candidate, epoch()) == "it sets the pace of its epoch"
