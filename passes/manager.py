"""The driver: runs passes one after another under the eyes of the instruments."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import surroundings
from ttc.dialects.core.ir.entries import module_attr, set_module_attr
from ttc.dialects.core.ir.snapshot import Snapshot
from ttc.dialects.core.ir.verification import verify
from ttc.passes.base import Instrument, Pass, Report, Rewriter, Unit


def run_passes(passes: Sequence[Pass], unit: Unit, instruments: Sequence[Instrument] = (), stage: str | None = None) -> list[Report]:
    """Run passes in order; one report each.  An error tells the pass, the stage if it is given, and the IR around the op it names."""
    compared = any(instrument.compares for instrument in instruments)
    seen = Snapshot(unit.module) if compared else None
    reports: list[Report] = []
    for pass_ in passes:
        report, seen = _run_pass(pass_, unit, instruments, seen, stage)
        reports.append(report)
    return reports


def run_pass(pass_: Pass, unit: Unit, instruments: Sequence[Instrument] = ()) -> Report:
    """Run one pass over a unit, watched by instruments."""
    (report,) = run_passes([pass_], unit, instruments)
    return report


def _run_pass(
    pass_: Pass, unit: Unit, instruments: Sequence[Instrument], seen: Snapshot | None, stage: str | None
) -> tuple[Report, Snapshot | None]:
    rewriter = Rewriter(pass_.name, instruments)
    report = rewriter.report
    for instrument in instruments:
        instrument.before(pass_, unit)
    start = time.perf_counter()
    try:
        pass_.apply(unit, rewriter)
    except BaseException as error:
        for instrument in instruments:
            instrument.failed(pass_, unit, error)
        if isinstance(error, Error):
            raise _in_context(error, pass_, unit, stage) from error
        raise
    report.seconds = time.perf_counter() - start
    if seen is not None:
        before, seen = seen, Snapshot(unit.module)
        report.changed = seen != before
    for instrument in instruments:
        instrument.after(pass_, unit, report)
    return report, seen


def _in_context(error: Error, pass_: Pass, unit: Unit, stage: str | None) -> Error:
    """Return the error with what was being done, and where."""
    if error.context is None:
        error.context = f"pass {pass_.name}" + (f" (stage {stage})" if stage is not None else "")
    if error.excerpt is None and error.where is not None:
        error.excerpt = surroundings(unit.module, error.where)
    return error


def run_stage(
    stage: str, passes: Sequence[Pass], unit: Unit, instruments: Sequence[Instrument] = (), end: int | None = None
) -> list[Report]:
    """Run the passes of a stage, verify the module at its end, name the stage in it, and tell the instruments.

    end: stop after so many of its passes; the module then says so (`ttc.passes_done`), and the next run of the stage goes on from there.
    """
    done = int(module_attr(unit.module, "passes_done") or 0)
    stops = end is not None and end < len(passes)
    if not done <= (len(passes) if end is None else end):
        raise Error("E0305", f"{done} passes of stage '{stage}' were run on this IR already, more than up to where to stop")
    unit.module.attributes.pop("ttc.passes_done", None)
    reports = run_passes(passes[done:end], unit, instruments, stage)
    if stops:
        set_module_attr(unit.module, "passes_done", end)
    verify(unit.module)
    if stops:
        return reports
    set_module_attr(unit.module, "stage", stage)
    for instrument in instruments:
        instrument.on_stage(stage, unit)
    return reports
