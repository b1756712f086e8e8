"""Lowering of changes of format."""

from __future__ import annotations

from ttc.runtime.engines.native.jobs.copies import copy, round_in_place
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.lower import LOWERINGS


@LOWERINGS.rule("adjust")
def adjust(n: Lowering) -> None:
    """Lower tile.adjust: numbers as a format holds them; the result may have another format."""
    n.only("to", "rounding")
    x, format_, rounding = n.operand(0), n.attr("to"), n.attr("rounding")
    if x.storage not in FLOATS or n.result_storage() not in FLOATS or rounding not in ("rne", "truncate"):
        raise NotTaken(f"{x.storage} rounded otherwise")
    rounded = n.temp(x.shape, "f32")
    copy(n, x, rounded)
    if format_ != "Float32":
        round_in_place(n, rounded, str(format_), truncate=rounding == "truncate")
    n.alias(rounded)
