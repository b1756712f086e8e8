"""Faults end at a limit."""

from __future__ import annotations

from ttc.dialects.netlist.buda.faults import MAX_FAULTS, Faults


def test_no_more_than_the_limit() -> None:
    faults = Faults()
    for number in range(MAX_FAULTS + 5):
        faults.add("E0601", f"n:{number}", "x")
    assert not faults.require(False, "E0601", "n", "y")
    assert faults.require(True, "E0601", "n", "y")
    assert (len(faults.violations), faults.full, faults.many) == (MAX_FAULTS, True, True)
