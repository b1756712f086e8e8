"""Options of training at run time: of `ttc train`, and of the updates of `ttc.training`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import ttc.settings.option_values as takes
from ttc.dialects.core.errors import nearest
from ttc.dialects.core.records import record
from ttc.settings.records import Options, choice, option, switch
from ttc.settings.run_options import EXACT_HELP, STOCHASTIC_HELP

PARTIAL = ("error", "drop")
"""What can be done with rows at the end of an epoch that fill no batch."""
AUTO = "auto"
"""The value of `--resume` for the newest checkpoint of the folder, if there is one."""

OUTPUTS = "all|last|sum|mean|every:N|loss"


MODES = ("all", "last", "sum", "mean", "every", "loss")
"""Ways to give the outputs of several microbatches; `every` has an interval."""
_EVERY = re.compile(r"every:([1-9]\d{0,8})")


def read_output(text: str) -> tuple[str, int]:
    """Return the way and the interval of `all`, `last`, `sum`, `mean`, `loss` or `every:N`.  Raises ValueError with the reason."""
    found = _EVERY.fullmatch(str(text))
    if found is not None:
        return "every", int(found[1])
    if str(text).startswith("every"):
        raise ValueError("it takes every:N, with a whole number of at least 1")
    if text not in MODES:
        raise ValueError(nearest(str(text), MODES) or "it takes all, last, sum, mean, every:N or loss")
    return text, 1


def _output(raw: object) -> str:
    """Return the text of an output mode, checked.  Raises ValueError."""
    read_output(str(raw))
    return str(raw)


@record(kw_only=True)
class LoopOptions(Options):
    """The options of `ttc train`: none is part of an archive."""

    TABLE: ClassVar[str] = "train"

    data: Path | None = option(None, "Samples: an .npz file, or a folder of .npy files, with an array an input.", takes.path, "PATH")
    val: Path | None = option(None, "Samples that are evaluated after each epoch, likewise.", takes.path, "PATH")
    epochs: int = option(1, "How often the data are gone through.", takes.integer(1), "N")
    batch: int | None = option(None, "Rows of an update: a multiple of the archive's; default: those.", takes.integer(1), "N")
    partial: str = choice(PARTIAL[0], "Rows that fill no batch at the end of an epoch: refuse the data, or leave them out.", PARTIAL)
    lr: float | None = option(None, "Learning rate that the schedule starts from; default: the archive's.", takes.rate, "X")
    schedule: str = option("constant", "Of learning rates: constant, step, cosine, linear, onecycle.", takes.text, "NAME[:KEY=VALUE,...]")
    shuffle: bool = switch("Take the rows in an order that is drawn anew for each epoch.")
    seed: int = option(0, "Of the order of rows, and of dropout.", takes.integer(0), "N")
    checkpoint: Path | None = option(None, "Folder for checkpoints.", takes.path, "DIR")
    every: int | None = option(None, "Updates between two checkpoints; default: an epoch's.", takes.integer(1), "N")
    keep: int = option(2, "How many checkpoints stay.", takes.integer(1), "N")
    resume: str | None = option(
        None, "Go on from a checkpoint; auto: from the newest of the folder, if there is one.", takes.text, f"{AUTO}|FILE"
    )
    stop_at_nan: bool = switch("End with an error at a loss, or at data, that are not finite.")
    log: Path | None = option(None, "Write a line an update.", takes.path, "FILE.csv|FILE.jsonl")
    curve: Path | None = option(None, "Draw the losses.", takes.path, "FILE.svg|FILE.png")
    engine: str = choice(takes.ENGINES[0], "What executes the netlist.", takes.ENGINES)
    exact: bool = switch(EXACT_HELP)
    stochastic_rounding: int | None = option(None, STOCHASTIC_HELP, takes.integer(0), "SEED")
    threads: int | None = option(None, "CPU threads; default: all that this process may use.", takes.threads, "N")


PARTIAL_BATCHES = ("error", "pad", "drop")
"""What can be done with rows of a call that do not divide."""
RECOMPILE = ("again", "error")
"""What can be done with arrays of other shapes than those before."""


@record(kw_only=True)
class UpdateOptions(Options):
    """The options of `ttc.training` beside those of compiling and running: how rows of a call become updates."""

    TABLE: ClassVar[str] = "updates"

    accumulate: int = option(1, "Microbatches whose gradients an update adds up.", takes.integer(1), "N")
    iterations: int = option(1, "Updates of a call.", takes.integer(1), "N")
    replicas: int = option(1, "Copies of the model that share the rows of an update.", takes.integer(1), "N")
    reduction: str = choice("mean", "Gradients of an update: of the loss over all rows, or the sum over microbatches.", ("mean", "sum"))
    output: str = option("all", "Outputs that a call gives: of which microbatches, or what these add up to.", _output, OUTPUTS)
    loss_rows: str = choice("mean", "The loss that a call gives: one of all its rows, or as the outputs are chosen.", ("mean", "output"))
    partial_batch: str = choice("error", "Rows that do not divide: refuse them, or leave them out.", ("error", "drop"))
    recompile: str = choice(RECOMPILE[0], "Arrays of other shapes than before: compile again, or refuse them.", RECOMPILE)


@record(kw_only=True)
class InferenceOptions(Options):
    """The options of `ttc.inference` beside those of compiling and running: how rows of a call become microbatches."""

    TABLE: ClassVar[str] = "inference"

    iterations: int = option(1, "Microbatches of a call, for each replica.", takes.integer(1), "N")
    replicas: int = option(1, "Copies of the model that share the rows of a call.", takes.integer(1), "N")
    output: str = option("all", "Outputs that a call gives: of which microbatches, or what these add up to.", _output, OUTPUTS)
    partial_batch: str = choice("error", "Rows that do not divide: refuse them, fill them up, or leave them out.", PARTIAL_BATCHES)
    recompile: str = choice(RECOMPILE[0], "Arrays of other shapes than before: compile again, or refuse them.", RECOMPILE)
