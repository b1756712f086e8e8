"""The driver: runs passes one after another under the eyes of the instruments."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.functions import set_module_attr
from ttc.dialects.core.ir import verify
from ttc.passes.base import Instrument, Pass, Report, Rewriter, Unit


def run_passes(passes: Sequence[Pass], unit: Unit, instruments: Sequence[Instrument] = ()) -> list[Report]:
    """Run passes in order; one report each.  An error that names no place gets the pass's name."""
    return [run_pass(pass_, unit, instruments) for pass_ in passes]


def run_pass(pass_: Pass, unit: Unit, instruments: Sequence[Instrument] = ()) -> Report:
    """Run one pass."""
    rewriter = Rewriter(pass_.name, instruments)
    for instrument in instruments:
        instrument.before(pass_, unit)
    start = time.perf_counter()
    try:
        pass_.apply(unit, rewriter)
    except BaseException as error:
        for instrument in instruments:
            instrument.failed(pass_, unit, error)
        if isinstance(error, Error):
            raise error.at(f"pass {pass_.name}") from error
        raise
    rewriter.report.seconds = time.perf_counter() - start
    for instrument in instruments:
        instrument.after(pass_, unit, rewriter.report)
    return rewriter.report


def run_stage(stage: str, passes: Sequence[Pass], unit: Unit, instruments: Sequence[Instrument] = ()) -> list[Report]:
    """Run the passes of a stage, verify the module at its end, name the stage in it, and tell the instruments."""
    reports = run_passes(passes, unit, instruments)
    verify(unit.module)
    set_module_attr(unit.module, "stage", stage)
    for instrument in instruments:
        instrument.on_stage(stage, unit)
    return reports
