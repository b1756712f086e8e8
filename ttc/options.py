"""Options as records.  Command-line flags, TTC_* variables and TOML keys are derived from their fields.

Values come from, first to last in force: flag (or keyword argument), variable, TOML table, default.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import ttc.settings.option_values as takes
from ttc.dialects.core.errors import Error, passed_over, warn
from ttc.dialects.core.numerics import DRAM_PLACEMENTS, FIDELITIES, KERNELS, PARALLEL, PRECISIONS
from ttc.dialects.core.records import record
from ttc.inputs.files import check_tables
from ttc.settings.generate_options import GenerateOptions
from ttc.settings.loop_options import LoopOptions, UpdateOptions
from ttc.settings.option_values import Shape, read_shapes
from ttc.settings.placement_reader import PLACEMENT_KEY, read_placement
from ttc.settings.precision_reader import RULES_KEY, read_rules
from ttc.settings.records import (
    OWN_VARIABLES,
    PREFIX,
    Options,
    OptionsT,
    check_names,
    choice,
    key_of,
    made,
    maybe_choice,
    option,
    read,
    settings,
    switch,
    variable_of,
)
from ttc.settings.run_options import PROGRAM_HELP, RunOptions
from ttc.settings.train_options import TrainOptions

if TYPE_CHECKING:
    from ttc.dialects.core.machines.clusters import Cluster
    from ttc.dialects.core.rules.placement import AnyRule
    from ttc.dialects.core.rules.precision import PrecisionRule
    from ttc.inputs.input_values import InputValue

STAGES = ("import", "nn", "tile", "netlist", "tti")
"""Stages of a compilation, in order."""
FORMATS = (
    *("source", "Float32", "Tf32", "Float16", "Float16_b", "Half"),
    *("Bfp8", "Bfp4", "Bfp2", "Bfp8_b", "Bfp4_b", "Bfp2_b", "Lf8", "Fp8_e4m3"),
)
"""The formats of tensors at op borders; `source` keeps the model's own types."""
TARGET_HELP = "Machine to compile for: one that `ttc targets` lists, or a descriptor file."
RULE_FILES = {RULES_KEY: "precision_file", PLACEMENT_KEY: "placement_file"}
"""Arrays of tables in TOML files beside the tables of commands, and the options that they set."""


# ---- the options ----------------------------------------------------------------------------------------------------------------


@record(kw_only=True)
class CompileOptions(Options):
    """The options of `ttc compile` and `ttc.compile`."""

    TABLE: ClassVar[str] = "compile"

    target: str = option("n150", TARGET_HELP, takes.machine, "NAME|FILE.yaml", in_result=True)
    harvested_rows: str | None = option(
        None, "Rows of cores to leave unused: so many, or these by their NoC y.", takes.rows, "N|[Y,...]", in_result=True
    )
    format: str = choice("source", "How tensors are stored between ops.", FORMATS, in_result=True)
    kernels: str | None = maybe_choice(
        "Kernels of the device: whole composites, or what Buda netlists have; default: the target's own.", KERNELS
    )
    precision: str = choice("float32", "Of the multiplier on the CPU.", PRECISIONS, in_result=True)
    fidelity: str | None = maybe_choice(
        "Passes of the device's multiplier; default: HiFi3 for results in 16 bits, HiFi4 for all others.", FIDELITIES
    )
    chips: int | None = option(
        None, "Chips to spread a program over; default: one, or all of a cluster.", takes.integer(1), "N", in_result=True
    )
    parallel: str | None = maybe_choice(
        "What several chips divide: a batch, ops as stages of a pipeline, or tensors of ops; default: the batch where that can be.",
        PARALLEL,
    )
    cluster: tuple[Cluster, ...] = option(
        (),
        "Chips and the links between them: a rectangle, or a file that describes them.",
        takes.cluster,
        "RxC|FILE.yaml",
        in_result=True,
    )
    dram_placement: str | None = maybe_choice("How the DRAM channel of a queue is chosen; default: by traffic.", DRAM_PLACEMENTS)
    amp: int = option(
        0, "Level of automatic mixed precision: smaller weights and coarser multipliers.", takes.level(2), "0|1|2", in_result=True
    )
    precision_file: tuple[PrecisionRule, ...] = option(
        (), "TOML file of rules that set formats and fidelity of single ops.", read_rules, "FILE.toml", in_result=True
    )
    effort: int | None = option(
        None, "Work of placement, from 0, quick and simple, to 2; default: 1.", takes.level(2), "0|1|2", in_result=True
    )
    placement_file: tuple[AnyRule, ...] = option(
        (), "TOML file of rules that place single ops and queues.", read_placement, "FILE.toml", in_result=True
    )
    shape: tuple[tuple[str, Shape], ...] = option(
        (),
        "Shape of an input with dynamic dimensions (repeatable); several of one input make a program each.",
        takes.shapes_of_programs,
        "NAME=1x3x224x224",
        repeated=True,
        in_result=True,
    )
    batch: int | tuple[int, ...] | None = option(
        None, "Size of every dynamic leading dimension; several make a program each.", takes.batches, "N[,N...]", in_result=True
    )
    values: tuple[InputValue, ...] = option(
        (), "Value of an integer input that shapes follow from (repeatable).", takes.input_values, "NAME=FILE.npy|NUMBER", repeated=True
    )
    probe: tuple[str, ...] = option(
        (), "Make the value of a node an output, under the node's name (repeatable).", takes.words, "NAME", repeated=True, in_result=True
    )
    to: str = option(
        "tti",
        "Stop at the end of this stage, or after this pass of it (tile:fuse-eltwise), and write the IR as text.",
        takes.stop(STAGES),
        "STAGE[:PASS]",
    )
    from_: str | None = option(
        None, "The input is IR text at the end of this stage.", takes.word(STAGES[:-1]), "STAGE", choices=STAGES[:-1]
    )
    weights: Path | None = option(None, "Archive or model that holds the weights of IR text.", takes.path, "FILE")
    training: TrainOptions | None = None
    """The options of training, whose flags stand in a table of their own; None: the program is for inference."""

    @property
    def stop(self) -> tuple[str, str | None]:
        """The stage to stop in, and the pass after which; None: at the stage's end."""
        stage, _, name = self.to.partition(":")
        return stage, name or None

    def recorded(self) -> dict[str, Any]:
        """Return options that change the result; a descriptor file by its stem, so that no path is recorded."""
        from ttc.dialects.core.machines.targets import target_label

        trained = {} if self.training is None else self.training.recorded()
        return {**super().recorded(), **trained, "target": target_label(self.target)}

    @property
    def storage_format(self) -> str | None:
        """The format asked for; None if the source's types are kept."""
        return None if self.format == "source" else self.format

    @property
    def rules(self) -> tuple[PrecisionRule, ...]:
        """The rules of precision: those of the level of mixed precision, the fidelity asked for, those of the file; later ones override."""
        if not self.amp and self.fidelity is None:
            return self.precision_file
        from ttc.dialects.core.rules.precision import AMP, PrecisionRule

        asked = () if self.fidelity is None else (PrecisionRule(fidelity=self.fidelity),)
        return (*AMP[self.amp], *asked, *self.precision_file)


@record(kw_only=True)
class WatchOptions(Options):
    """The options of what is shown of passes and of the native engine's steps; only `rewrite_limit` changes a result."""

    TABLE: ClassVar[str] = "debug"

    print_before: tuple[str, ...] = option(
        (),
        "Print the IR before these passes: a shell pattern, a stage, or canonicalize@3 for its third run.",
        takes.patterns,
        "PAT",
        repeated=True,
    )
    print_after: tuple[str, ...] = option((), "Print the IR after these passes if they changed it.", takes.patterns, "PAT", repeated=True)
    print_unchanged: bool = switch("Print after passes that changed nothing, too.")
    timing: str | None = option(
        None,
        "Print a tree of times of stages, passes and their parts; with =FILE.json write a trace for Perfetto.",
        takes.text,
        "FILE.json",
        bare="-",
    )
    stats: bool = switch("Print how often each rewrite of each pass happened.")
    remarks: tuple[str, ...] = option(
        (), "Print what these passes did, did not do, and why: a pattern.", takes.patterns, "PAT", repeated=True
    )
    rewrite_limit: int | None = option(None, "Refuse rewrites after the first N.", takes.integer(0), "N")


@record(kw_only=True)
class DebugOptions(WatchOptions):
    """The options of what every command that runs the pipeline shows, keeps and checks of it; only `rewrite_limit` changes a result."""

    print_locations: bool = switch("Print the source names of ops with the IR.")
    dump: Path | None = option(None, "Write the IR after every pass, and index.json, to this folder.", takes.path, "DIR")
    check_numerics: str | None = option(
        None,
        "Evaluate the module after every pass, and stop at the first that breaks the numbers; inputs are random, or of a file.",
        takes.text,
        "FILE.npz",
        bare="-",
    )
    reproduce: bool = switch("Leave a folder for `ttc repro` where a pass reports an error, too, not only where it crashes.")
    with_weights: bool = switch("Keep the weights in that folder, instead of their shapes.")


@record(kw_only=True)
class BenchOptions(Options):
    """The options of the command `ttc bench`."""

    TABLE: ClassVar[str] = "bench"

    program: str | None = option(None, PROGRAM_HELP, takes.text, "NAME")
    engine: str = choice(RunOptions.engine, "What executes the netlist.", takes.ENGINES)
    threads: int | None = option(None, "CPU threads; default: all that this process may use.", takes.threads, "N")
    seed: int = option(0, "Of random inputs.", takes.integer(0), "N")
    seconds: float = option(2.0, "Run for so long.", takes.seconds, "X")
    runs: int | None = option(None, "Run so often instead.", takes.integer(1), "N")
    warm_up: int | None = option(None, "Uncounted runs before; default: for a tenth of the time.", takes.integer(0), "N")


@record(kw_only=True)
class TuneOptions(Options):
    """The options of the command `ttc tune-precision`."""

    TABLE: ClassVar[str] = "tune"

    target: str = option("n150", TARGET_HELP, takes.machine, "NAME|FILE.yaml")
    shape: tuple[tuple[str, Shape], ...] = option(
        (), "Shape of an input with dynamic dimensions (repeatable).", read_shapes, "NAME=1x3x224x224", repeated=True
    )
    batch: int | None = option(None, "Size of the dynamic leading dimension of every input.", takes.integer(1), "N")
    values: tuple[InputValue, ...] = option(
        (), "Value of an integer input that shapes follow from (repeatable).", takes.input_values, "NAME=FILE.npy|NUMBER", repeated=True
    )
    program: str = option("forward", "Which program of the model to evaluate.", takes.text, "NAME")
    pcc: float = option(0.99, "Correlation of the outputs with those in Float32 to keep.", takes.correlation, "X")
    candidates: tuple[str, ...] = option((), "Formats to try; default: Float16_b, Bfp8_b and Bfp4_b.", takes.words, "FORMAT,...")
    effort: int = option(60, "Evaluations of the model at most.", takes.integer(1), "N")
    seed: int = option(0, "Of random inputs.", takes.integer(0), "N")


KINDS: tuple[type[Options], ...] = (
    *(CompileOptions, TrainOptions, DebugOptions, RunOptions, BenchOptions, TuneOptions),
    *(LoopOptions, UpdateOptions, GenerateOptions),
)


# ---- sources --------------------------------------------------------------------------------------------------------------------


def resolve(
    cls: type[OptionsT],
    explicit: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    config: Mapping[str, Any] | None = None,
) -> OptionsT:
    """Read options from their sources: flags or keyword arguments, variables, a TOML file.

    Args:
        cls: one of KINDS.
        explicit: values of flags or keyword arguments, by field name; None counts as not given.
        environ, config: variables, and a parsed TOML file; TTC_* variables and tables that no option class has are warned of.
    Raises: E0101 for unknown names and keys and for unusable values, with the nearest known ones.
    """
    return made(cls, explicit, _from_config(cls, config or {}) | _from_environment(cls, environ or {}))


def _from_environment(cls: type[Options], environ: Mapping[str, str]) -> dict[str, Any]:
    ours = {name: text for name, text in environ.items() if name.startswith(PREFIX)}
    known = {*OWN_VARIABLES, *(variable_of(item.name) for kind in KINDS for item, _ in settings(kind))}
    if foreign := set(ours) - known:  # Kubernetes sets TTC_PORT and others where a service is called ttc
        warn(f"variables that ttc does not know, passed over: {passed_over(foreign, known, PREFIX)}")
    return {
        item.name: read(item.name, setting, ours[variable_of(item.name)], variable_of(item.name))
        for item, setting in settings(cls)
        if variable_of(item.name) in ours
    }


def _from_config(cls: type[Options], config: Mapping[str, Any]) -> dict[str, Any]:
    check_tables(config, (cls.TABLE, *(kind.TABLE for kind in KINDS), *RULE_FILES))
    table = config.get(cls.TABLE, {})
    if not isinstance(table, dict):
        raise Error("E0101", f"'{cls.TABLE}' is not a table", hint=f"write [{cls.TABLE}] on a line of its own")
    by_key = {key_of(item.name): (item.name, setting) for item, setting in settings(cls)}
    check_names(cast("Mapping[str, Any]", table), by_key, "key")
    found = {by_key[key][0]: read(*by_key[key], raw, f"key '{key}'") for key, raw in table.items()}
    rules = [(name, key) for key, name in RULE_FILES.items() if key in config and name in by_key]
    return {name: read(name, by_key[name][1], config[key], f"[[{key}]]") for name, key in rules} | found
