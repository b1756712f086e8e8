"""The command `ttc tune-precision`: a search for cheap precision."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, size_text
from ttc.cli.options import FILE, flags_of, options_from, verbosity
from ttc.options import TuneOptions

if TYPE_CHECKING:
    from ttc.tune.run import TuneOutcome


@click.command("tune-precision")
@click.argument("model", type=FILE)
@click.option("-o", "--output", type=FILE, metavar="FILE.toml", help="Rules to write, for `ttc compile --precision-file`.")
@click.option("--input", "files", multiple=True, metavar="NAME=FILE.npy", help="Value of an input (repeatable).")
@click.option("--inputs", "bundle", type=FILE, metavar="FILE.npz", help="Values of inputs, by name; those not given are random.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@flags_of(TuneOptions)
@verbosity
@click.pass_obj
def command(
    console: Console,
    model: Path,
    output: Path | None,
    files: tuple[str, ...],
    bundle: Path | None,
    as_json: bool,
    config: Path | None,
    **raw: Any,
) -> int:
    """Find the cheapest formats and fidelities of MODEL's ops that keep a bound on the error.

    Kinds of ops (their results, weights and fidelity) take cheaper steps as long as the outputs correlate with those in Float32, then parts
    of the kinds that would break the bound.  Cost is stored bytes and estimated cycles, each relative to the model as it is.  On a device
    target evaluations compute as the device does (`ttc run --exact`); what is found is then compiled and run once more as a whole.
    """
    from ttc.inputs.files import require_model, require_output, write_bytes
    from ttc.process.platform import require_supported
    from ttc.tune.document import document

    require_supported()
    options = options_from(TuneOptions, raw, config)
    require_model(model)
    output = require_output(output, model) if output is not None else None
    outcome = _tune(console, model, options, files, bundle)
    if output is not None:
        write_bytes(output, document(outcome.rules, _remarks(model, options, outcome)).encode())
    if as_json:
        console.json(_figures(outcome, options))
    elif not console.quiet:
        _print(console, outcome, output)
    return 0


def _tune(console: Console, model: Path, options: TuneOptions, files: tuple[str, ...], bundle: Path | None) -> TuneOutcome:
    from ttc.cli.inputs import gather
    from ttc.tune.run import tune

    def values(arguments: Any) -> Any:
        found = gather(arguments, files, bundle, random=True, seed=options.seed)
        if found.drawn:
            console.note(f"note: random values for {', '.join(found.drawn)} (seed {options.seed})")
        return found.arrays

    with console.progress() as progress:
        return tune(model, options, values, progress.show)


def _remarks(model: Path, options: TuneOptions, outcome: TuneOutcome) -> list[str]:
    return [
        f"Precision of {model.name} on {options.target}, by ttc tune-precision --pcc {options.pcc:g}:",
        f"PCC {outcome.deviation.pcc_text()}, relative L2 {outcome.deviation.relative_l2:.3g} against Float32.",
    ]


def _figures(outcome: TuneOutcome, options: TuneOptions) -> dict[str, Any]:
    sides = {"before": outcome.before, "after": outcome.after}
    return {
        "target": options.target,
        "bound": options.pcc,
        "pcc": None if isnan(outcome.deviation.pcc) else outcome.deviation.pcc,
        "relative_l2": outcome.deviation.relative_l2,
        "evaluations": outcome.evaluations,
        **{name: {"tensor_bytes": side.tensor_bytes, "cycles": side.cycles} for name, side in sides.items()},
        "choices": [{"op": row.kind, "setting": row.key, "ops": row.ops, "values": row.values} for row in outcome.rows],
        "rules": [rule.text for rule in outcome.rules],
    }


def _print(console: Console, outcome: TuneOutcome, output: Path | None) -> None:
    rows = [[row.kind, row.key, row.ops, ", ".join(f"{value} {count}" for value, count in row.values.items())] for row in outcome.rows]
    console.table(["op", "setting", "ops", "chosen"], rows)
    before, after = outcome.before, outcome.after
    stored, share = (size_text(before.tensor_bytes), size_text(after.tensor_bytes)), _share(after.tensor_bytes, before.tensor_bytes)
    totals = [
        ["tensors of the archive", *stored, share],
        ["estimated cycles", f"{before.cycles:,}", f"{after.cycles:,}", _share(after.cycles, before.cycles)],
    ]
    console.table(["", "before", "after", "ratio"], totals)
    found = outcome.deviation
    console.say(f"PCC {found.pcc_text()}, relative L2 {found.relative_l2:.3g} against Float32, after {outcome.evaluations} evaluations")
    if output is not None:
        count = len(outcome.rules)
        console.say(f"{output}: {count} rule{'s' * (count != 1)}, for ttc compile --precision-file")


def _share(after: float, before: float) -> str:
    return f"{after / before:.2f}" if before else "-"
