"""The command `ttc run`: an archive, run on given or random inputs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, time_text
from ttc.cli.options import FILE, PRECOMPILED, flags_of, options_from, verbosity
from ttc.cli.plans import PlanWatch
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.options import RunOptions, WatchOptions
from ttc.settings.run_options import BOTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ttc.accuracy.distances import Comparison, Exactness
    from ttc.cli.inputs import Inputs
    from ttc.comparison.engines import Agreement
    from ttc.comparison.gradients import GradientAgreement
    from ttc.comparison.layers import Layers
    from ttc.dialects.netlist.model import Netlist
    from ttc.runtime.executor import Executor

BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
FAILED = 1
"""The exit status when a comparison is out of bound."""


@record(frozen=False)
class RunOutcome:
    """The outcome of `ttc run`: outputs, times and comparisons.

    Args:
        outputs: by name.
        seconds: of each repetition.
        checks: comparisons with what `by` computed, by output.
        engines: comparison of the engines.
        gradients: comparison of gradients with differences of the forward part.
        program: which one ran.
        layers: comparisons of nodes inside the model.
    """

    inputs: Inputs
    outputs: dict[str, NDArray]
    seconds: list[float]
    checks: dict[str, Comparison] = field(default_factory=dict)
    by: str | None = None
    engines: Agreement | None = None
    gradients: GradientAgreement | None = None
    program: str | None = None
    layers: Layers | None = None

    @property
    def checked(self) -> bool:
        return all(check.within for check in self.checks.values())

    @property
    def within(self) -> bool:
        compared = [found for found in (self.engines, self.gradients) if found is not None]
        return self.checked and all(found.within for found in compared) and (self.layers is None or self.layers.first_off is None)


@click.command("run")
@click.argument("archive", type=FILE)
@click.option("--input", "files", multiple=True, metavar="NAME=FILE.npy", help="Value of an input (repeatable).")
@click.option("--inputs", "bundle", type=FILE, metavar="FILE.npz", help="Values of inputs, by name.")
@click.option("--random", is_flag=True, help="Draw the inputs that are not given; without any given, all are drawn.")
@click.option("--output-dir", "folder", type=FILE, metavar="DIR", help="Write NAME.npy for every output, and outputs.json.")
@click.option(
    "--check",
    type=FILE,
    metavar="MODEL.onnx",
    help="Compare with what this model gives, or its gradient rules with differences; status 1 if too far off.",
)
@click.option("--layers", is_flag=True, help="With --check: compare the nodes inside the model, too, and name the first that is off.")
@click.option("--restore", type=FILE, metavar="FILE", help="Begin with the states, and changed parameters, of this checkpoint.")
@click.option("--checkpoint", type=FILE, metavar="FILE", help="After the run, write states and changed parameters (safetensors).")
@click.option("--print-plan", is_flag=True, help="Print the native engine's plan: its jobs, the steps that made them, and their memory.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@PRECOMPILED
@flags_of(RunOptions, WatchOptions)
@verbosity
@click.pass_obj
def command(
    console: Console,
    archive: Path,
    config: Path | None,
    folder: Path | None,
    check: Path | None,
    layers: bool,
    print_plan: bool,
    as_json: bool,
    **raw: Any,
) -> int:
    """Run the program in ARCHIVE (.tti)."""
    from ttc.inputs.files import require_folder, require_input, require_model

    source = {name: raw.pop(name) for name in ("files", "bundle", "random")}
    precompiled, states = raw.pop("precompiled"), {name: raw.pop(name) for name in ("restore", "checkpoint")}
    options = options_from(RunOptions, raw, config)
    watch = PlanWatch(console, options_from(WatchOptions, raw, config), print_plan)
    watch.choose(options)
    require_input(archive)
    if options.engine == BOTH and (options.exact or options.repeat > 1):
        raise Error("E0101", "--engine both compares the engines once, in the CPU's arithmetic", hint="leave out --exact and --repeat")
    if layers and (check is None or options.engine == BOTH):
        hint = "add --check MODEL" if check is None else "leave out --engine both, which compares ops of the archive"
        raise Error("E0101", "--layers compares an archive with its model, on one engine", hint=hint)
    if check is not None:
        require_model(check)
    if folder is not None:
        require_folder(folder)
    _check_states(archive, options, check, **states)
    limit_threads(options.threads)
    outcome = _run(console, archive, options, check, source, watch, layers=layers, precompiled=precompiled, **states)
    if folder is not None:
        from ttc.cli.outputs import write_outputs

        write_outputs(folder, outcome.outputs)
    _print_json(console, outcome, options) if as_json else _print(console, outcome)
    return 0 if outcome.within else FAILED


def _check_states(archive: Path, options: RunOptions, check: Path | None, restore: Path | None, checkpoint: Path | None) -> None:
    """Whether checkpoints can be read and written, before anything is run.  Raises E0101, E0102, E0103."""
    from ttc.inputs.files import require_input, require_output

    if options.engine == BOTH and (restore is not None or checkpoint is not None):
        raise Error("E0101", "--engine both runs a session of its own, without checkpoints", hint="leave out --restore and --checkpoint")
    if restore is not None:
        if check is not None:
            raise Error("E0101", "--check compares with the first run of the model", hint="leave out --restore")
        require_input(restore)
    if checkpoint is not None:
        require_output(checkpoint, archive)


def limit_threads(threads: int | None) -> None:
    """Limit the threads of numpy's BLAS, which reads the environment when it is loaded: that must be later than this call."""
    if threads is not None:
        for name in BLAS_VARIABLES:
            os.environ[name] = str(threads)


def note_exact(console: Console, netlist: Netlist, *, exact: bool) -> None:
    """Say that `--exact` changes nothing where that is so."""
    if exact and netlist.chip.grid is None:
        console.note(f"note: --exact changes nothing: target {netlist.chip.target} is no device")


def _run(
    console: Console,
    archive: Path,
    options: RunOptions,
    check: Path | None,
    source: dict[str, Any],
    watch: PlanWatch,
    *,
    layers: bool = False,
    precompiled: Path | None = None,
    restore: Path | None = None,
    checkpoint: Path | None = None,
) -> RunOutcome:
    from ttc.cli.inputs import fitting, gather, known_inputs
    from ttc.loading import load

    with console.progress() as progress:
        progress.show(f"loading {archive.name}")
        engine = "reference" if options.engine == BOTH else options.engine
        chosen = replace(options, engine=engine)
        with load(
            archive, options=chosen, precompiled=precompiled, on_compile=progress.compiling, instruments=watch.instruments
        ) as executor:
            watch.report(executor)
            fit = fitting(executor, options.program, source["files"], source["bundle"], pad_batch=options.pad_batch)
            signature = fit.arguments(executor.program.entry(fit.program))
            inputs = gather(signature, **source, seed=options.seed, fixed=known_inputs(executor, signature))
            if inputs.drawn:
                console.note(f"note: random values for {', '.join(inputs.drawn)} (seed {options.seed})")
            note_exact(console, executor.netlist, exact=options.exact)
            if restore is not None:
                executor.restore(restore)
            progress.show("running")
            outcome = _on_both(executor, inputs, options) if options.engine == BOTH else _repeat(executor, inputs, options)
            outcome.program = fit.program
            if options.engine == BOTH:
                progress.show("comparing gradients with differences")
                outcome.gradients = _gradients(executor, inputs, fit.program, check)
            if checkpoint is not None:
                executor.checkpoint(checkpoint)
            if check is not None and outcome.gradients is None:
                progress.show(f"running {check.name} to compare with")
                exactness = _check(outcome, executor, check, exact=options.exact)
                if layers:
                    _compare_layers(outcome, executor, check, options, exactness, progress.show)
    return outcome


def _on_both(executor: Executor, inputs: Inputs, options: RunOptions) -> RunOutcome:
    """Return outputs of the reference engine, and how the native one compares."""
    from ttc.comparison.engines import compared_program
    from ttc.runtime.cpu import available_cores
    from ttc.runtime.engines.table import engine_named
    from ttc.runtime.executor import Executor

    program, found = compared_program(executor.program, engine_named("native", options.threads or available_cores()))
    start = time.perf_counter()
    with Executor(program) as compared:
        outputs = compared.run(inputs.arrays, options.program, pad_batch=options.pad_batch)
    return RunOutcome(inputs, outputs, [time.perf_counter() - start], engines=found)


def _gradients(executor: Executor, inputs: Inputs, program: str, model: Path | None) -> GradientAgreement | None:
    """Return how gradients compare with differences, if the program takes any; the model tells the rule that is wrong."""
    from ttc.comparison.gradients import compare_gradients, has_gradients

    if not has_gradients(executor.program, program):
        return None
    found = compare_gradients(executor.program, inputs.arrays)
    if model is not None:
        from ttc.comparison.rules import wrong_rule

        found.rule = wrong_rule(model, executor.program, inputs.arrays)
    return found


def _repeat(executor: Executor, inputs: Inputs, options: RunOptions) -> RunOutcome:
    """Outputs of the first run, and seconds of every run."""
    outputs: dict[str, NDArray] = {}
    seconds: list[float] = []
    for number in range(options.repeat):
        start = time.perf_counter()
        found = executor.run(inputs.arrays, options.program, pad_batch=options.pad_batch)
        seconds.append(time.perf_counter() - start)
        outputs = outputs if number else found
    return RunOutcome(inputs, outputs, seconds)


def _check(outcome: RunOutcome, executor: Executor, model: Path, *, exact: bool) -> Exactness:
    """Compare with what the model gives; the device's arithmetic is that of 16 bits, whatever the format.  Returns whose bounds apply."""
    from ttc.accuracy.distances import Exactness
    from ttc.comparison.reference_outputs import compare_outputs, exactness_of, probes_of, reference_outputs

    options = executor.description.options
    absent = dict(executor.description.absent_inputs)
    expected, outcome.by = reference_outputs(model, outcome.inputs.arrays, absent, probes_of(options))
    dtypes = [str(array.dtype) for array in outcome.outputs.values()]
    exactness = max(exactness_of(options, dtypes), Exactness.BITS16 if exact else Exactness.FLOAT32)
    outcome.checks = compare_outputs(outcome.outputs, expected, exactness)
    return exactness


def _compare_layers(
    outcome: RunOutcome, executor: Executor, model: Path, options: RunOptions, exactness: Exactness, say: Callable[[str], None]
) -> None:
    from ttc.comparison.layers import LayerComparison, compare_layers

    run = LayerComparison(executor.netlist, executor.description, model, outcome.inputs.arrays, outcome.outputs, options, exactness, say)
    outcome.layers = compare_layers(run)


# ---- printing -------------------------------------------------------------------------------------------------------------------


def _figures(array: NDArray) -> dict[str, Any]:
    """Type, shape, and smallest, mean and largest value of an output; None where it is empty, complex or text."""
    import numpy as np

    numbers = array.astype(np.float64) if array.size and array.dtype.kind != "O" else None
    stated = {} if numbers is None else {"min": float(numbers.min()), "mean": float(numbers.mean()), "max": float(numbers.max())}
    return {"dtype": str(array.dtype), "shape": list(array.shape), "min": None, "mean": None, "max": None} | stated


def _times(seconds: list[float]) -> dict[str, Any]:
    return {"runs": len(seconds), "min": min(seconds), "median": statistics.median(seconds), "max": max(seconds)}


def _print_json(console: Console, outcome: RunOutcome, options: RunOptions) -> None:
    document: dict[str, Any] = {
        "program": outcome.program,
        "random_inputs": list(outcome.inputs.drawn),
        "seed": options.seed,
        "outputs": [{"name": name, **_figures(array)} for name, array in outcome.outputs.items()],
        "seconds": _times(outcome.seconds),
    }
    if outcome.by is not None:
        checks = [{"name": name, **check.figures()} for name, check in outcome.checks.items()]
        document["check"] = {"against": outcome.by, "within": outcome.checked, "outputs": checks}
    if outcome.layers is not None:
        from ttc.cli.layers import plain_layers

        document["layers"] = plain_layers(outcome.layers)
    if outcome.engines is not None:
        from ttc.cli.agreement import plain_agreement

        document["engines"] = plain_agreement(outcome.engines)
    if outcome.gradients is not None:
        from ttc.cli.gradients import plain_gradients

        document["gradients"] = plain_gradients(outcome.gradients)
    console.json(document)


def _print(console: Console, outcome: RunOutcome) -> None:
    if console.quiet and outcome.within:
        return
    columns = ["output", "type", "shape", "min", "mean", "max"]
    rows = [[name, *_cells(_figures(array))] for name, array in outcome.outputs.items()]
    console.table(columns, rows)
    times = _times(outcome.seconds)
    spread = f"min {time_text(times['min'])}, median {time_text(times['median'])}, max {time_text(times['max'])} of {times['runs']} runs"
    if outcome.engines is None:
        console.say(f"time: {time_text(times['min']) if times['runs'] == 1 else spread}")
    for name, check in outcome.checks.items():
        console.say(check_line(name, check, outcome.by or ""))
    if outcome.layers is not None:
        from ttc.cli.layers import print_layers

        print_layers(console, outcome.layers)
    if outcome.engines is not None:
        from ttc.cli.agreement import print_agreement

        print_agreement(console, outcome.engines)
    if outcome.gradients is not None:
        from ttc.cli.gradients import print_gradients

        print_gradients(console, outcome.gradients)


def _cells(figures: dict[str, Any]) -> list[object]:
    return [
        figures["dtype"],
        "x".join(map(str, figures["shape"])) or "scalar",
        *["-" if figures[k] is None else figures[k] for k in ("min", "mean", "max")],
    ]


def check_line(name: str, check: Comparison, by: str) -> str:
    """Return a check as text: `check y against onnxruntime: max abs 1.2e-06, relative L2 3e-07, PCC 1.0000000: within bound (max abs
    1e-04)`.
    """
    return f"check {name} against {by}: {check}"
