"""Options as frozen dataclasses.  Command-line flags, TTC_* variables and TOML keys are derived from their fields.

Values come from, first to last in force: flag (or keyword argument), variable, TOML table, default.  Each field's metadata holds a
`Setting`; values of any source go through its `read`, so a wrong one is the same E0101 wherever it was written.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.numerics import FIDELITIES, KERNELS, PRECISIONS
from ttc.rules import RULES_KEY, read_rules

if TYPE_CHECKING:
    from ttc.dialects.core.precision import Rule

STAGES = ("import", "nn", "tile", "netlist", "tti")
"""Stages of a compilation, in order."""
FORMATS = (
    *("source", "Float32", "Tf32", "Float16", "Float16_b", "Half"),
    *("Bfp8", "Bfp4", "Bfp2", "Bfp8_b", "Bfp4_b", "Bfp2_b", "Lf8", "Fp8_e4m3"),
)
"""Storage at op borders; `source` keeps the model's own types."""
ENGINES = ("reference",)
TARGET_HELP = "Machine to compile for: one that `ttc targets` lists, or a descriptor file."
UNSET = (None, (), 0)
"""Defaults that are not recorded: an option that IR or an archive does not name had this value."""

OptionsT = TypeVar("OptionsT", bound="Options")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Setting:
    """What is known of one option.

    Args:
        help: one line.
        read: turns a raw value (text, TOML value or Python value) into the field's; raises ValueError with the reason.
        metavar: how help names the value.
        choices: the values allowed, if they are few.
        repeated: whether the flag may be given several times.
        switch: whether the flag takes no value, and giving it means true.
        in_result: whether the value changes the archive; such options are recorded in it.
        flags: long and short names of the flag.
    """

    help: str
    read: Callable[[Any], Any]
    metavar: str
    choices: tuple[str, ...] = ()
    repeated: bool = False
    switch: bool = False
    in_result: bool = False
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of the option classes.  `given` names the fields that were set by somebody, even to their default."""

    TABLE: ClassVar[str]
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self) -> None:
        changed = set(self.given)
        for item, setting in settings(type(self)):
            raw = getattr(self, item.name)
            value = raw if raw == item.default else _read(item.name, setting, raw)
            object.__setattr__(self, item.name, value)
            if value != item.default:
                changed.add(item.name)
        object.__setattr__(self, "given", frozenset(changed))

    def recorded(self) -> dict[str, Any]:
        """Options that change the result, by name, as plain values; unset ones are left out."""
        found = {item.name: getattr(self, item.name) for item, setting in settings(type(self)) if setting.in_result}
        return {name: _plain(value) for name, value in found.items() if value not in UNSET}


def _plain(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return tuple(item.text for item in value) if hasattr(value[0], "text") else shapes_text(value)


# ---- kinds of values ------------------------------------------------------------------------------------------------------------


def _word(choices: tuple[str, ...]) -> Callable[[Any], str]:
    def read(raw: Any) -> str:
        if raw not in choices:
            raise ValueError(nearest(str(raw), choices) or f"known: {', '.join(choices)}")
        return raw

    return read


def _truth(raw: Any) -> bool:
    found = {"1": True, "true": True, "0": False, "false": False}.get(str(raw).lower())
    if found is None:
        raise ValueError("it takes true or false")
    return found


def _text(raw: Any) -> str:
    if not isinstance(raw, str) or not raw:
        raise ValueError("it takes a name")
    return raw


def _machine(raw: Any) -> str:
    return _text(str(raw) if isinstance(raw, Path) else raw)


def _path(raw: Any) -> Path:
    if not isinstance(raw, str | Path) or not str(raw):
        raise ValueError("it takes a path")
    return Path(raw)


def _integer(low: int) -> Callable[[Any], int]:
    def read(raw: Any) -> int:
        number = int(raw) if isinstance(raw, str) and re.fullmatch(r"-?\d{1,18}", raw) else raw
        if isinstance(number, bool) or not isinstance(number, int) or number < low:
            raise ValueError(f"it takes a whole number of at least {low}")
        return number

    return read


def _correlation(raw: Any) -> float:
    number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else -1.0
    if not 0 <= number <= 1:
        raise ValueError("it takes a number from 0 to 1")
    return number


def _words(raw: Any) -> tuple[str, ...]:
    items = raw.split(",") if isinstance(raw, str) else list(raw)
    if not all(isinstance(item, str) and item for item in items):
        raise ValueError("it takes names with commas between them")
    return tuple(dict.fromkeys(items))


def _rows(raw: Any) -> str:
    """The canonical text of a number of rows, or of a list of them."""
    from ttc.dialects.core.targets import parse_rows

    if isinstance(raw, bool) or not isinstance(raw, int | str | list | tuple):
        raise ValueError("it takes a number of rows, or a list of them: 1, [3, 7]")
    rows = parse_rows(str(list(raw) if isinstance(raw, tuple) else raw))
    return str(rows if isinstance(rows, int) else list(rows))


_SHAPE = re.compile(r"\d{1,15}(x\d{1,15})*")


def read_shapes(raw: Any) -> tuple[tuple[str, Shape], ...]:
    """(name, shape) pairs from `NAME=1x3x224x224` texts, or from a mapping of names to such texts or sequences.  Raises ValueError."""
    if isinstance(raw, str):
        raw = raw.split(",")
    if isinstance(raw, Mapping):
        pairs = list(raw.items())
    else:
        pairs = [item if isinstance(item, tuple) else str(item).rpartition("=")[::2] for item in raw]
    found = tuple((name, _shape(shape)) for name, shape in pairs)
    names = [name for name, _ in found]
    if "" in names or len(set(names)) != len(names):
        raise ValueError("it takes NAME=1x3x224x224, each name once")
    return tuple(sorted(found))


def _shape(raw: Any) -> Shape:
    if isinstance(raw, str) and (raw == "" or _SHAPE.fullmatch(raw)):
        return tuple(int(size) for size in raw.split("x")) if raw else ()
    if isinstance(raw, list | tuple) and all(isinstance(size, int) and size >= 0 for size in raw):
        return tuple(raw)
    raise ValueError("it takes NAME=1x3x224x224")


def shapes_text(shapes: tuple[tuple[str, Shape], ...]) -> str:
    """The pairs as one text that `read_shapes` reads."""
    return ",".join(f"{name}={'x'.join(map(str, shape))}" for name, shape in shapes)


def _level(raw: Any) -> int:
    if raw not in (0, 1, 2, "0", "1", "2") or isinstance(raw, bool):
        raise ValueError("it takes 0, 1 or 2")
    return int(raw)


def option(default: Any, help: str, read: Callable[[Any], Any], metavar: str, **more: Any) -> Any:
    """A dataclass field with its Setting."""
    return field(default=default, metadata={"setting": Setting(help, read, metavar, **more)})


def choice(default: str, help: str, choices: tuple[str, ...], *, in_result: bool = False) -> Any:
    """A field that takes one of a few words."""
    return option(default, help, _word(choices), "|".join(choices), choices=choices, in_result=in_result)


# ---- the options ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CompileOptions(Options):
    """What `ttc compile` and `ttc.compile` take."""

    TABLE: ClassVar[str] = "compile"

    target: str = option("n150", TARGET_HELP, _machine, "NAME|FILE.yaml", in_result=True)
    harvested_rows: str | None = option(
        None, "Rows of cores to leave unused: so many, or these by their NoC y.", _rows, "N|[Y,...]", in_result=True
    )
    format: str = choice("source", "How tensors are stored between ops.", FORMATS, in_result=True)
    kernels: str | None = option(
        None,
        "Kernels of the device: whole composites, or what Buda netlists have; default: the target's own.",
        _word(KERNELS),
        "|".join(KERNELS),
        choices=KERNELS,
        in_result=True,
    )
    precision: str = choice("float32", "Of the multiplier on the CPU.", PRECISIONS, in_result=True)
    fidelity: str | None = option(
        None,
        "Passes of the device's multiplier; default: HiFi3 for results in 16 bits, HiFi4 for all others.",
        _word(FIDELITIES),
        "|".join(FIDELITIES),
        choices=FIDELITIES,
        in_result=True,
    )
    amp: int = option(0, "Level of automatic mixed precision: smaller weights and coarser multipliers.", _level, "0|1|2", in_result=True)
    precision_file: tuple[Rule, ...] = option(
        (), "TOML file of rules that set formats and fidelity of single ops.", read_rules, "FILE.toml", in_result=True
    )
    shape: tuple[tuple[str, Shape], ...] = option(
        (), "Shape of an input with dynamic dimensions (repeatable).", read_shapes, "NAME=1x3x224x224", repeated=True, in_result=True
    )
    batch: int | None = option(None, "Size of the dynamic leading dimension of every input.", _integer(1), "N", in_result=True)
    to: str = choice("tti", "Stop at the end of this stage and write its IR as text.", STAGES)
    from_: str | None = option(None, "The input is IR text at the end of this stage.", _word(STAGES[:-1]), "STAGE", choices=STAGES[:-1])
    weights: Path | None = option(None, "Archive or model that holds the weights of IR text.", _path, "FILE")
    dump: Path | None = option(None, "Write the IR after every pass to this folder.", _path, "DIR")

    def recorded(self) -> dict[str, Any]:
        """Options that change the result; a descriptor file by its stem, so that no path is recorded."""
        from ttc.dialects.core.targets import target_label

        return {**super().recorded(), "target": target_label(self.target)}

    @property
    def storage_format(self) -> str | None:
        """The format asked for; None: the source's types are kept."""
        return None if self.format == "source" else self.format

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules of precision: those of the level of mixed precision, the fidelity asked for, those of the file; later ones override."""
        if not self.amp and self.fidelity is None:
            return self.precision_file
        from ttc.dialects.core.precision import AMP, Rule

        asked = () if self.fidelity is None else (Rule(fidelity=self.fidelity),)
        return (*AMP[self.amp], *asked, *self.precision_file)


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """What `ttc run` and `ttc.load` take: nothing that is part of an archive."""

    TABLE: ClassVar[str] = "run"

    program: str = option("forward", "Which program of the archive to run.", _text, "NAME")
    engine: str = choice("reference", "What executes the netlist.", ENGINES)
    exact: bool = option(False, "Compute as the device does: fidelity, registers, packing.", _truth, "true|false", switch=True)
    stochastic_rounding: int | None = option(None, "With --exact: round results at random, by this seed.", _integer(0), "SEED")
    threads: int | None = option(None, "CPU threads; default: all that this process may use.", _integer(1), "N")
    seed: int = option(0, "Of random inputs.", _integer(0), "N")
    repeat: int = option(1, "Run this often; more than once prints the fastest, median and slowest time.", _integer(1), "N")


@dataclass(frozen=True, kw_only=True)
class TuneOptions(Options):
    """What `ttc tune-precision` takes."""

    TABLE: ClassVar[str] = "tune"

    target: str = option("n150", TARGET_HELP, _machine, "NAME|FILE.yaml")
    shape: tuple[tuple[str, Shape], ...] = option(
        (), "Shape of an input with dynamic dimensions (repeatable).", read_shapes, "NAME=1x3x224x224", repeated=True
    )
    batch: int | None = option(None, "Size of the dynamic leading dimension of every input.", _integer(1), "N")
    program: str = option("forward", "Which program of the model to evaluate.", _text, "NAME")
    pcc: float = option(0.99, "Correlation of the outputs with those in Float32 to keep.", _correlation, "X")
    candidates: tuple[str, ...] = option((), "Formats to try; default: Float16_b, Bfp8_b and Bfp4_b.", _words, "FORMAT,...")
    effort: int = option(60, "Evaluations of the model at most.", _integer(1), "N")
    seed: int = option(0, "Of random inputs.", _integer(0), "N")


KINDS: tuple[type[Options], ...] = (CompileOptions, RunOptions, TuneOptions)


def settings(cls: type[Options]) -> Iterator[tuple[dataclasses.Field[Any], Setting]]:
    """Fields that are options, with what is known of them, in the order of declaration."""
    for item in dataclasses.fields(cls):
        if "setting" in item.metadata:
            yield item, item.metadata["setting"]


# ---- names and sources ----------------------------------------------------------------------------------------------------------


def flag_of(name: str) -> str:
    """`from_` -> `--from`."""
    return "--" + name.rstrip("_").replace("_", "-")


def variable_of(name: str) -> str:
    """`from_` -> `TTC_FROM`."""
    return "TTC_" + name.rstrip("_").upper()


def key_of(name: str) -> str:
    """`from_` -> `from`: the key in a TOML table."""
    return name.rstrip("_")


def _read(name: str, setting: Setting, raw: Any, source: str | None = None) -> Any:
    try:
        return setting.read(raw)
    except (ValueError, TypeError) as error:
        shown = raw if isinstance(raw, str | int | float | bool) else ", ".join(map(str, raw)) if isinstance(raw, tuple) else repr(raw)
        raise Error("E0101", f"{source or flag_of(name)} cannot be '{shown}'", hint=str(error)) from None


def resolve(
    cls: type[OptionsT],
    explicit: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    config: Mapping[str, Any] | None = None,
) -> OptionsT:
    """Options from their sources.

    Args:
        cls: one of KINDS.
        explicit: values of flags or keyword arguments, by field name; None counts as not given.
        environ: variables; those that start with TTC_ must be known to some option class.
        config: a parsed TOML file.
    Raises: E0101 for unknown names and unusable values, with the nearest known ones.
    """
    known = {item.name: setting for item, setting in settings(cls)}
    _check_names(explicit, known, "option")
    values = _from_config(cls, config or {}) | _from_environment(cls, environ or {})
    values |= {name: _read(name, known[name], raw) for name, raw in explicit.items() if raw is not None}
    return cls(given=frozenset(values), **values)


def _check_names(names: Mapping[str, Any], known: Mapping[str, Any], what: str) -> None:
    for name in names:
        if name not in known:
            raise Error("E0101", f"there is no {what} '{name}'", hint=nearest(name, known))


def _from_environment(cls: type[Options], environ: Mapping[str, str]) -> dict[str, Any]:
    ours = {name: text for name, text in environ.items() if name.startswith("TTC_")}
    everywhere = {variable_of(item.name): None for kind in KINDS for item, _ in settings(kind)}
    _check_names(ours, everywhere, "variable")
    return {
        item.name: _read(item.name, setting, ours[variable_of(item.name)], variable_of(item.name))
        for item, setting in settings(cls)
        if variable_of(item.name) in ours
    }


def _from_config(cls: type[Options], config: Mapping[str, Any]) -> dict[str, Any]:
    _check_names(config, dict.fromkeys((*(kind.TABLE for kind in KINDS), RULES_KEY)), "table")
    table = config.get(cls.TABLE, {})
    if not isinstance(table, dict):
        raise Error("E0101", f"'{cls.TABLE}' is not a table", hint=f"write [{cls.TABLE}] on a line of its own")
    by_key = {key_of(item.name): (item.name, setting) for item, setting in settings(cls)}
    _check_names(cast("Mapping[str, Any]", table), by_key, "key")
    found = {by_key[key][0]: _read(*by_key[key], raw, f"key '{key}'") for key, raw in table.items()}
    rules = {"precision_file": config[RULES_KEY]} if RULES_KEY in config and "precision_file" in by_key else {}
    return {name: _read(name, by_key[name][1], raw, f"[[{RULES_KEY}]]") for name, raw in rules.items()} | found
