"""The command `ttc bisect`: the first pass that makes the numbers, or a script's verdict, wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, flags_of, options_from, verbosity
from ttc.dialects.core.errors import Error
from ttc.options import STAGES, CompileOptions
from ttc.settings.train_options import TrainOptions

if TYPE_CHECKING:
    from ttc.debug.bisect import Check, Culprit
    from ttc.debug.bisect_plan import PlanSearch

EXIT_KEPT, EXIT_BROKEN = 0, 1
_AGREES = ", and the native engine computes what the reference engine does"


@click.command("bisect")
@click.argument("model", type=FILE)
@click.option("--check", "script", type=FILE, metavar="SCRIPT", help="Program that is run with a file of IR; exit status 0: good.")
@click.option("--rtol", type=float, metavar="X", help="Relative L2 error allowed; default: what the formats allow.")
@click.option("--inputs", "bundle", type=FILE, metavar="FILE.npz", help="Inputs by name; the others are random.")
@click.option("--seed", type=click.IntRange(0), default=0, metavar="N", help="Of random inputs.  Default: 0.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@flags_of(CompileOptions, TrainOptions)
@verbosity
@click.pass_obj
def command(
    console: Console,
    model: Path,
    script: Path | None,
    rtol: float | None,
    bundle: Path | None,
    seed: int,
    as_json: bool,
    config: Path | None,
    **raw: Any,
) -> int:
    """Find the first pass, and in it the first rewrite, that breaks MODEL.

    After every pass the module is evaluated and compared with the imported one, or given to a script.  If every pass keeps the
    numbers, the native engine is compared with the reference engine, and its steps are searched.  Of a training program gradient rules
    are compared with differences, too.  Status: 0 if all passes and steps keep it, 1 if one does not.
    """
    from ttc.debug.bisect import bisect
    from ttc.inputs.files import require_input, require_model
    from ttc.instruments.progress import PassProgress

    trained = options_from(TrainOptions, raw, config)
    options = replace(options_from(CompileOptions, raw, config), training=trained if trained.wanted else None)
    if script is not None and (rtol is not None or bundle is not None):
        raise Error("E0101", "--check decides by itself: --rtol and --inputs do not go with it")
    if rtol is not None and not 0 <= rtol < float("inf"):
        raise Error("E0101", f"--rtol cannot be {rtol}", hint="it takes a relative error, such as 1e-3")
    check, engine = _by_numbers(bundle, seed, rtol) if script is None else (_by_script(require_input(script)), None)
    with console.progress() as progress:
        culprit = bisect(require_model(model), options, check, [PassProgress(progress.show)], engine)
    if as_json:
        console.json({"kept": culprit is None, "culprit": None if culprit is None else _plain(culprit)})
    else:
        _print(console, culprit, compared=script is None and options.stop[0] == STAGES[-1])
    return EXIT_KEPT if culprit is None else EXIT_BROKEN


def _by_numbers(bundle: Path | None, seed: int, rtol: float | None) -> tuple[Check, PlanSearch]:
    from ttc.debug.bisect_checks import NumbersKept
    from ttc.debug.bisect_plan import PlanSearch

    numbers = NumbersKept(bundle, seed, rtol)
    return numbers, PlanSearch(numbers)


def _by_script(script: Path) -> Check:
    from ttc.debug.bisect_checks import ScriptPasses

    return ScriptPasses(script)


def _plain(culprit: Culprit) -> dict[str, Any]:
    number, name = culprit.rewrite or (None, None)
    found = {"stage": culprit.stage, "run": culprit.run, "pass": culprit.text, "problem": culprit.problem}
    return {**found, "rewrite": number, "at": name, "before": culprit.before, "after": culprit.after}


def _print(console: Console, culprit: Culprit | None, *, compared: bool) -> None:
    if culprit is None:
        console.say(f"every pass keeps it{_AGREES if compared else ''}")
        return
    console.say(f"stage {culprit.stage}, pass {culprit.run}: {culprit.problem}")
    if culprit.rewrite is None:
        console.say("the pass does it outside of its named rewrites")
    else:
        number, name = culprit.rewrite
        console.say(f"rewrite {number} of the pass: {name}")
    for heading, lines in (("before", culprit.before), ("after", culprit.after)):
        console.text(f"\n{heading}:")
        for line in lines:
            console.say(f"  {line}")
