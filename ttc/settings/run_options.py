"""Options of running an archive: of `ttc run` and `ttc.load`."""

from __future__ import annotations

from typing import ClassVar

import ttc.settings.option_values as takes
from ttc.dialects.core.records import record
from ttc.settings.records import Options, choice, option, switch

BOTH = "both"  # which `ttc run` takes besides: the native engine, op by op against the reference
PROGRAM_HELP = "Which program of the archive to run; default: the one whose shapes the inputs have."
EXACT_HELP = "Compute as the device does: fidelity, registers, packing."
STOCHASTIC_HELP = "With --exact: round results at random, by this seed."


@record(kw_only=True)
class RunOptions(Options):
    """The options of `ttc run` and `ttc.load`: none is part of an archive."""

    TABLE: ClassVar[str] = "run"

    program: str | None = option(None, PROGRAM_HELP, takes.text, "NAME")
    pad_batch: bool = switch("Pad inputs with rows up to the next batch that there is a program for, and cut the results.")
    engine: str = choice(takes.ENGINES[0], "What executes the netlist; both: compare the engines op by op.", (*takes.ENGINES, BOTH))
    exact: bool = switch(EXACT_HELP)
    stochastic_rounding: int | None = option(None, STOCHASTIC_HELP, takes.integer(0), "SEED")
    threads: int | None = option(None, "CPU threads; default: all that this process may use.", takes.threads, "N")
    seed: int = option(0, "Of random inputs.", takes.integer(0), "N")
    repeat: int = option(1, "Run this often; more than once prints the fastest, median and slowest time.", takes.integer(1), "N")
