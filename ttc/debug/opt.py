"""Passes on IR text, one part of it after another: what `ttc opt` does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ttc.compiler.driver import configured, machine_for, with_recorded
from ttc.compiler.source import check_recorded, dialects, text_weights
from ttc.debug.expectations import expected_errors, mismatches
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import module_attr
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.verification import problems, verify
from ttc.dialects.core.records import record
from ttc.options import CompileOptions
from ttc.passes.base import Instrument, Pass, Unit
from ttc.passes.manager import run_passes
from ttc.passes.pipeline import PipelineSettings, stages
from ttc.passes.pipeline_text import read_pipeline

SEPARATOR = re.compile(r"^// -----.*$", re.MULTILINE)
MAX_PARTS = 10_000
"""The most parts that one text may have."""


@record
class TextJob:
    """What is done to every part of a text.

    Args:
        pipeline: passes as text; empty: the IR is parsed, verified and printed.
        options: the target and what else the pipelines of stages depend on.
        weights: a file that holds the weights; without one only modules that name a seed have any.
        locations: print the source names of ops.
        announced: errors are compared with those that comments announce.
    """

    pipeline: str
    options: CompileOptions
    weights: Path | None = None
    locations: bool = False
    announced: bool = False


def parts_of(text: str) -> list[str]:
    """Return the parts between lines `// -----`; each keeps the line numbers it has in the whole.  Raises E0301."""
    found: list[str] = []
    line = start = 0
    for match in SEPARATOR.finditer(text):
        found.append("\n" * line + text[start : match.start()])
        line += text.count("\n", start, match.end())
        start = match.end()
        if len(found) > MAX_PARTS:
            raise Error("E0301", f"the text has more than {MAX_PARTS} parts")
    return [*found, "\n" * line + text[start:]]


def optimized(text: str, name: str, job: TextJob, watchers: Sequence[Instrument]) -> str:
    """Return the text of a module after the passes.

    Args:
        name: of the file, for messages and for the locations of ops that have none.
        watchers: see the passes; the caller ends them.
    Raises: Error; with `job.announced` only for errors that were not announced, and announced ones that did not come.
    """
    if not job.announced:
        module = _parsed(text, name, announced=False)
        verify(module)
        return _run(module, job, watchers)
    expected = expected_errors(text, name)
    result, errors = "", []
    try:
        module = _parsed(text, name, announced=True)
        errors += problems(module)
        result = "" if errors else _run(module, job, watchers)
    except Error as error:
        errors.append(error)
    wrong = mismatches(expected, errors, name)
    if wrong:
        first, *others = wrong
        first.excerpt = "\n".join([*(first.excerpt or "").splitlines(), *(str(error) for error in others)]) or None
        raise first
    return result


def _parsed(text: str, name: str, *, announced: bool) -> ModuleOp:
    module = parse_module(text, name, dialects(), locate="all" if announced else "missing")
    check_recorded(module, name)
    return module


def _run(module: ModuleOp, job: TextJob, watchers: Sequence[Instrument]) -> str:
    options = with_recorded(module, job.options)
    asked = job.options.target if "target" in job.options.given else None
    target = configured(machine_for(module, asked, options.target), options)
    unit = Unit(module, text_weights(module, job.weights), target)
    stage = str(module_attr(module, "stage") or "import")
    for watcher in watchers:
        watcher.on_stage(stage, unit)
    run_passes(_passes(job.pipeline, options, unit), unit, watchers)
    verify(module)
    for watcher in watchers:
        watcher.on_stage(stage, unit)
    return print_op(module, locations=job.locations) + "\n"


def _passes(text: str, options: CompileOptions, unit: Unit) -> list[Pass]:
    if not text:
        return []
    known = stages(unit.target, PipelineSettings(format=options.storage_format, precision=options.precision, rules=options.rules))
    return read_pipeline(text, known)
