"""The command `ttc train`: trains an archive on samples in files of numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, time_text
from ttc.cli.options import FILE, PRECOMPILED, flags_of, options_from, verbosity
from ttc.cli.run import limit_threads, note_exact
from ttc.dialects.core.errors import Error
from ttc.settings.loop_options import AUTO, LoopOptions

if TYPE_CHECKING:
    from ttc.runtime.machine.session import Session
    from ttc.train.log import LogLine
    from ttc.train.loop import TrainingRun
    from ttc.train.start import Start


@click.command("train")
@click.argument("archive", type=FILE)
@click.option("-o", "--output", type=FILE, metavar="FILE.tti", help="Write the archive with the trained weights and states.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@PRECOMPILED
@flags_of(LoopOptions)
@verbosity
@click.pass_obj
def command(
    console: Console, archive: Path, output: Path | None, config: Path | None, as_json: bool, precompiled: Path | None, **raw: Any
) -> int:
    """Train the program in ARCHIVE (.tti), compiled with --loss and --optimizer, on the samples in files of numpy."""
    from ttc.inputs.files import require_input, require_output

    options = options_from(LoopOptions, raw, config)
    require_input(archive)
    _check_files(options)
    if output is not None:
        require_output(output)
    limit_threads(options.threads)
    from ttc.loading import chosen_engine, exact_of, load

    exact_of(options)
    arithmetic = {"engine": chosen_engine(options), "exact": options.exact, "stochastic_rounding": options.stochastic_rounding}
    with console.progress() as progress:
        progress.show(f"loading {archive.name}")
        executor = load(archive, options.threads, precompiled=precompiled, on_compile=progress.compiling, **arithmetic)
    note_exact(console, executor.netlist, exact=options.exact)
    with executor:
        begun, lines = _train(console, executor.session, options)
        if output is not None:
            executor.session.program.with_states(executor.session.states()).save(output)
    if options.curve is not None:
        _draw(options.curve, begun, lines, archive.stem)
    _print(console, begun, lines, as_json=as_json)
    return 0


def _check_files(options: LoopOptions) -> None:
    """Whether all files are there, or can be written, before anything is loaded.  Raises E0101, E0102, E0103."""
    from ttc.inputs.files import require_folder, require_input, require_model, require_output
    from ttc.train.curve import check_curve
    from ttc.train.log import is_csv
    from ttc.train.schedules import parse

    if options.data is None:
        raise Error("E0101", "there is nothing to train on", hint="add --data FILE.npz, or a folder of .npy files")
    for path in (options.data, options.val):
        if path is not None:
            require_model(path)
    parse(options.schedule)
    for path in (options.log, options.curve):
        if path is not None:
            require_output(path)
    if options.log is not None:
        is_csv(options.log)
    if options.curve is not None:
        check_curve(options.curve)
    if options.checkpoint is not None:
        require_folder(options.checkpoint)
    if options.resume == AUTO and options.checkpoint is None:
        raise Error("E0101", "--resume auto takes the newest checkpoint of a folder", hint="add --checkpoint DIR")
    if options.resume not in (None, AUTO):
        require_input(Path(options.resume))


def _train(console: Console, session: Session, options: LoopOptions) -> tuple[Start, list[LogLine]]:
    """The run, and the lines of its updates."""
    from ttc.cli.training_bar import TrainingBar
    from ttc.train.start import start

    with TrainingBar(sys.stderr.isatty() and not console.quiet) as bar:
        begun = start(session, options, bar.show)
        if begun.resumed is not None:
            console.note(f"note: going on from {begun.resumed}, after {begun.update} updates")
        try:
            lines = begun.run.go(begun.update)
        finally:
            if begun.run.log is not None:
                begun.run.log.close()
    return begun, lines


def _draw(path: Path, begun: Start, lines: list[LogLine], title: str) -> None:
    """The curve of what was logged before, and of this run."""
    from ttc.inputs.files import write_bytes
    from ttc.train.curve import curve

    before = begun.run.log.lines if begun.run.log is not None else []
    write_bytes(path, curve(path, [*before, *lines], title))


def _print(console: Console, begun: Start, lines: list[LogLine], *, as_json: bool) -> None:
    run, last = begun.run, lines[-1] if lines else None
    scored = next((line for line in reversed(lines) if line.validation_loss is not None), None)
    newest = run.checkpoints.newest_first()[:1] if run.checkpoints is not None else []
    document = {
        "updates": run.total,
        "resumed_at": begun.update if begun.resumed is not None else None,
        "rows": run.data.rows,
        "batch": run.batches.size,
        "epochs": run.epochs,
        "loss": None if last is None else last.loss,
        "validation_loss": None if scored is None else scored.validation_loss,
        "accuracy": None if scored is None else scored.accuracy,
        "seconds": 0.0 if last is None else last.seconds,
        "checkpoint": str(newest[0]) if newest else None,
    }
    if as_json:
        console.json(document)
    elif not console.quiet:
        _say(console, run, lines)


def _say(console: Console, run: TrainingRun, lines: list[LogLine]) -> None:
    """A row an epoch."""
    if not lines:
        console.say(f"nothing to do: all {run.total} updates were done")
        return
    rows: list[list[object]] = []
    for epoch in sorted({line.epoch for line in lines}):
        part = [line for line in lines if line.epoch == epoch]
        mean, last = sum(line.loss for line in part) / len(part), part[-1]
        cells = ["-" if value is None else value for value in (last.validation_loss, last.accuracy)]
        rows.append([epoch, last.update, mean, last.learning_rate, *cells, time_text(last.seconds)])
    console.table(["epoch", "updates", "loss", "lr", "validation loss", "accuracy", "time"], rows)  # fits 80 columns
