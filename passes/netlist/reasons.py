"""Explains for remarks which candidates an op had, and what decided between them."""

from __future__ import annotations

from typing import Any

from ttc.passes.tile_to_netlist.blocking import Blockings, Candidate
from ttc.passes.tile_to_netlist.epochs import EpochRange
from ttc.passes.tile_to_netlist.problem import Problem
from ttc.passes.tile_to_netlist.refusals import TooLarge

LISTED = 4
"""The most candidates of a kind that a remark lists."""


def considered(found: Blockings, chosen: Candidate, epoch: EpochRange, problem: Problem) -> list[dict[str, Any]]:
    """Return lines on the candidate taken, its neighbours that take fewer cores or are faster, and grids that do not fit L1; each has a
    verdict.
    """
    l1_bytes = problem.target.l1_usable_bytes
    front = found.front
    busiest = max(op.candidate.busy for op in epoch.ops)
    free = problem.cores - sum(op.candidate.cores for op in epoch.ops)
    smaller = [c for c in front if c.busy > chosen.busy][-LISTED:]
    faster = [c for c in front if c.busy < chosen.busy][:LISTED]
    alike = [c for c in found.all if c.cores == chosen.cores and c.busy > chosen.busy and c not in smaller][:LISTED]
    rows = [_row(chosen, "chosen")]
    rows += [_row(c, f"slower: {_ratio(c.busy, busiest)} the pace of the epoch") for c in reversed(smaller)]
    rows += [_row(c, f"takes {c.cores - chosen.cores} more cores: {free} are free{_gain(chosen, busiest)}") for c in faster]
    rows += [_row(c, "slower on as many cores") for c in alike]
    least = sorted(found.refused, key=lambda r: r.need_bytes)[:LISTED]
    return rows + [_too_large(r, l1_bytes) for r in least]


def decided(chosen: Candidate, epoch: EpochRange) -> str:
    """Say why the op did not get more cores, or fewer."""
    busiest = max(op.candidate.busy for op in epoch.ops)
    return "it sets the pace of its epoch" if chosen.busy == busiest else f"{_ratio(chosen.busy, busiest)} the pace of its epoch"


def _row(candidate: Candidate, verdict: str) -> dict[str, Any]:
    return {
        "grid": [candidate.rows, candidate.cols],
        "cores": candidate.cores,
        "cycles": candidate.busy,
        "l1_bytes": candidate.l1_bytes,
        "verdict": verdict,
    }


def _too_large(refused: TooLarge, l1_bytes: int) -> dict[str, Any]:
    verdict = f"needs {refused.need_bytes:,} bytes of L1, {l1_bytes:,} are usable"
    return {"grid": [refused.rows, refused.cols], "cores": refused.rows * refused.cols, "l1_bytes": refused.need_bytes, "verdict": verdict}


def _ratio(cycles: int, pace: int) -> str:
    return f"{cycles / max(pace, 1):.2f} times"


def _gain(chosen: Candidate, pace: int) -> str:
    return "" if chosen.busy == pace else ", and the pace is another op's"
