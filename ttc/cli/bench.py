"""The command `ttc bench`: how fast an archive runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, time_text
from ttc.cli.options import FILE, PRECOMPILED, flags_of, options_from, verbosity
from ttc.cli.run import limit_threads
from ttc.dialects.core.records import record
from ttc.options import BenchOptions

if TYPE_CHECKING:
    from ttc.reports.bench import Latencies, OpTime
    from ttc.reports.profiling import Profile
    from ttc.reports.roofline import Roofline

COLUMNS = ("op", "source", "kernel", "steps", "ms", "share", "GFLOP/s", "GB/s", "roofline")
SHOWN_OPS = 30
"""The rows of the table of ops, unless -v asks for all."""


@record
class Found:
    """What a benchmark found: latencies, runs a second in a stream, machine, ops, the first profile, inputs that were drawn, the
    program.
    """

    latencies: Latencies
    streamed: float
    machine: Roofline
    ops: list[OpTime]
    profile: Profile
    drawn: tuple[str, ...]
    program: str


@click.command("bench")
@click.argument("archive", type=FILE)
@click.option("--input", "files", multiple=True, metavar="NAME=FILE.npy", help="Value of an input (repeatable).")
@click.option("--inputs", "bundle", type=FILE, metavar="FILE.npz", help="Values of inputs, by name.")
@click.option("--random", is_flag=True, help="Draw the inputs that are not given; without any given, all are drawn.")
@click.option("--trace", type=FILE, metavar="FILE.json", help="Write a trace of one run, which Perfetto opens.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@PRECOMPILED
@flags_of(BenchOptions)
@verbosity
@click.pass_obj
def command(console: Console, archive: Path, config: Path | None, trace: Path | None, as_json: bool, **raw: Any) -> int:
    """Measure how fast the program in ARCHIVE (.tti) runs: latencies, throughput, and the time of each op."""
    from ttc.inputs.files import require_input, require_output, write_bytes
    from ttc.reports.bench import as_trace

    source = {name: raw.pop(name) for name in ("files", "bundle", "random")}
    precompiled = raw.pop("precompiled")
    options = options_from(BenchOptions, raw, config)
    require_input(archive)
    if trace is not None:
        require_output(trace, archive)
    limit_threads(options.threads)
    found = _measure(console, archive, options, precompiled, source)
    if trace is not None:
        events = as_trace(found.profile, archive.name, options.engine)
        write_bytes(trace, json.dumps(events, separators=(",", ":"), allow_nan=False).encode())
    _print_json(console, found, options) if as_json else _print(console, found)
    return 0


def _measure(console: Console, archive: Path, options: BenchOptions, precompiled: Path | None, source: dict[str, Any]) -> Found:
    from ttc.cli.inputs import fitting, gather, known_inputs
    from ttc.loading import load
    from ttc.reports.bench import latencies, op_times, profiles_within, streamed
    from ttc.reports.profiling import profile
    from ttc.reports.roofline import measured_roofline
    from ttc.runtime.arguments import inputs_of
    from ttc.runtime.cpu import available_cores

    with console.progress() as progress:
        progress.show(f"loading {archive.name}")
        with load(archive, options.threads, engine=options.engine, precompiled=precompiled, on_compile=progress.compiling) as executor:
            name = fitting(executor, options.program, source["files"], source["bundle"]).program
            signature = inputs_of(executor.program.entry(name))
            inputs = gather(signature, **source, seed=options.seed, fixed=known_inputs(executor, signature))
            if inputs.drawn:
                console.note(f"note: random values for {', '.join(inputs.drawn)} (seed {options.seed})")
            progress.show("running")
            limits = {"seconds": options.seconds, "runs": options.runs, "warm_up": options.warm_up}
            spent = latencies(executor, inputs.arrays, name, **limits)
            middle = spent.figures["p50"]
            total = options.seconds if options.runs is None else options.runs * middle
            stream = streamed(executor, inputs.arrays, name, latency=middle, seconds=total)
            progress.show("profiling")
            runs = profiles_within(options.seconds, middle)
            profiles = profile(executor.program, inputs.arrays, name, runs=runs)
        machine = measured_roofline(options.threads or available_cores())
    return Found(spent, stream, machine, op_times(profiles), profiles[0], inputs.drawn, name)


# ---- printing -------------------------------------------------------------------------------------------------------------------


def _print_json(console: Console, found: Found, options: BenchOptions) -> None:
    total = sum(op.seconds for op in found.ops)
    console.json(
        {
            "program": found.program,
            "engine": options.engine,
            "threads": found.machine.threads,
            "random_inputs": list(found.drawn),
            "seed": options.seed,
            "runs": len(found.latencies.seconds),
            "warm_up": found.latencies.warm_up,
            "seconds": found.latencies.figures,
            "runs_per_second": found.latencies.runs_per_second,
            "streamed_runs_per_second": found.streamed,
            "machine": {"flops_per_second": found.machine.flops_per_second, "bytes_per_second": found.machine.bytes_per_second},
            "ops": [op.figures(total, found.machine) for op in found.ops],
        }
    )


def _print(console: Console, found: Found) -> None:
    shown = found.ops if console.verbose else found.ops[:SHOWN_OPS]
    total = sum(op.seconds for op in found.ops)
    console.table(COLUMNS, [_row(op, total, found.machine, console.verbose) for op in shown])
    if len(shown) < len(found.ops):
        console.say(f"... and {len(found.ops) - len(shown):,} ops more (-v shows all)")
    figures, machine = found.latencies.figures, found.machine
    shown_times = {"min": "min", "median": "p50", "p90": "p90", "p99": "p99", "max": "max"}
    times = ", ".join(f"{label} {time_text(figures[name])}" for label, name in shown_times.items())
    console.paragraph(f"latency: {times}")
    runs = f"{len(found.latencies.seconds):,} runs after {found.latencies.warm_up:,} to warm up"
    rate = f"{found.latencies.runs_per_second:.4g} runs/s one after the other, {found.streamed:.4g} as a stream"
    console.paragraph(f"throughput: {rate} ({runs}); ops: {time_text(total)} of a run")
    rates = f"{machine.flops_per_second / 1e9:.4g} GFLOP/s of float32 multiply-adds, {machine.bytes_per_second / 1e9:.3g} GB/s of copying"
    console.paragraph(f"roofline: {rates} on {machine.threads} threads; over 100% where caches hold operands, or products cost less")


def _row(op: OpTime, total: float, machine: Roofline, verbose: bool) -> list[object]:
    others = len(op.source) - 1
    source = " + ".join(op.source) if verbose or others < 1 else f"{op.source[0]} (+{others})"
    rates = [f"{value / op.seconds / 1e9:.1f}" if op.seconds else "-" for value in (op.flops, op.bytes)]
    shares = [f"{op.seconds / total:.1%}" if total else "-", *rates, f"{op.roof(machine):.0%}"]
    return [op.op, source, ", ".join(op.kernels), ", ".join(op.steps), f"{op.seconds * 1e3:.3f}", *shares]
