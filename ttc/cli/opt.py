"""The command `ttc opt`: passes on IR text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, flags_of, options_from, verbosity
from ttc.cli.watching import instruments, report
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions, DebugOptions

STDIN = Path("-")
MAX_PIPELINE = 1 << 16
"""The most characters that the text of a pipeline may have."""


@click.command("opt")
@click.argument("file", type=FILE, metavar="FILE.mlir|-")
@click.option("-p", "--passes", "pipeline", metavar="PASSES", help="Passes, or stages, to run: 'fold-shapes,stream-batch{samples=4},tile'.")
@click.option("--pipeline", "toml", type=FILE, metavar="FILE.toml", help="File that lists them: passes = ['fold-shapes', ...].")
@click.option("-o", "--output", type=FILE, metavar="OUT.mlir", help="Where to write the result; default: stdout.")
@click.option("--split-input-file", "split", is_flag=True, help="Treat the parts between lines '// -----' as files of their own.")
@click.option(
    "--verify-diagnostics", "announced", is_flag=True, help="Succeed if the errors are those that comments expected-error announce."
)
@click.option("--target", metavar="NAME|FILE.yaml", help="Machine the passes are for.  Default: what the IR records, or n150.")
@click.option("--format", metavar="FORMAT", help="As for `ttc compile`; for the passes of stages.")
@click.option("--kernels", metavar="KERNELS", help="As for `ttc compile`.")
@click.option("--precision", metavar="PRECISION", help="As for `ttc compile`.")
@click.option("--weights", type=FILE, metavar="FILE", help="Archive or model that holds the weights; IR with ttc.seed has random ones.")
@flags_of(DebugOptions)
@verbosity
@click.pass_obj
def command(
    console: Console,
    file: Path,
    pipeline: str | None,
    toml: Path | None,
    output: Path | None,
    split: bool,
    announced: bool,
    weights: Path | None,
    config: Path | None,
    **raw: Any,
) -> int:
    """Run passes on IR text, and print the result.

    Without passes the IR is parsed, verified and printed.  `ttc passes` lists passes and their options.
    """
    from ttc.debug.opt import TextJob, optimized, parts_of
    from ttc.inputs.files import require_output, write_bytes
    from ttc.instruments.timing import Timing

    debug = options_from(DebugOptions, raw, config)
    if output is not None:
        require_output(output)
    job = TextJob(_pipeline(pipeline, toml), options_from(CompileOptions, raw, config), weights, debug.print_locations, announced)
    text, name = _read(file)
    timing = Timing(count_ops=debug.timing is not None)
    watchers = [*instruments(console, debug, lambda line: None, partial=True), timing]
    results = [optimized(part, name, job, watchers) for part in (parts_of(text) if split else [text])]
    result = "// -----\n".join(results)
    if output is not None:
        write_bytes(output, result.encode())
    elif not announced:
        console.text(result.rstrip("\n"))
    for watcher in watchers:
        watcher.finish()
    report(console, debug, watchers, timing.stages, note=True)
    return 0


def _pipeline(text: str | None, file: Path | None) -> str:
    """Return the pipeline that one of the two options gives.  Raises E0101, E0102."""
    if text is not None and file is not None:
        raise Error("E0101", "--passes and --pipeline both give the passes")
    if file is not None:
        from ttc.inputs.files import read_config

        table = read_config(file)
        passes = table.get("passes")
        if set(table) != {"passes"} or not isinstance(passes, list) or not all(isinstance(item, str) for item in passes):
            raise Error("E0101", "a pipeline file holds one list of texts", where=str(file), hint="passes = ['fold-shapes', 'tile']")
        text = ",".join(passes)
    if text is not None and len(text) > MAX_PIPELINE:
        raise Error("E0101", f"the pipeline has more than {MAX_PIPELINE} characters")
    return text or ""


def _read(file: Path) -> tuple[str, str]:
    """Return the text, and how messages name it.  Raises E0102, E0301."""
    from ttc.compiler.source import MAX_TEXT_BYTES, read_text
    from ttc.inputs.files import require_input

    if file != STDIN:
        return read_text(require_input(file)), file.name
    data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise Error("E0301", f"stdin holds more than {MAX_TEXT_BYTES >> 20} MB")
    try:
        return data.decode(), "<stdin>"
    except UnicodeDecodeError as error:
        raise Error("E0301", f"not text: {error}", where="<stdin>") from None
