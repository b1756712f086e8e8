"""What `ttc check` tells: whether a model compiles, what stands in its way, and what of it would run where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import prod
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ttc.compiler.source import Source, is_text, open_source
from ttc.compiler.variants import variants
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.flops import flops_of
from ttc.importers.base import describe_model
from ttc.importers.common.facts import Facts
from ttc.importers.common.inputs import OpenDimensions
from ttc.importers.common.likely_shapes import flags_text
from ttc.importers.common.open_input import OpenInput
from ttc.importers.common.unsupported import Refusal, UnsupportedOps, values_flag
from ttc.options import CompileOptions
from ttc.passes.base import Remark, Unit, Watcher

KIND_NAMES = {
    **dict.fromkeys((".pt2", ".pt", ".pth"), "PyTorch"),
    **{".tflite": "TensorFlow Lite", ".keras": "Keras", "/": "TensorFlow SavedModel", ".mlir": "IR text"},
}
"""The names of kinds of models by suffix, `/` for a folder."""
MAX_FILES = 10_000
"""The most files of a model that is a folder, of which the size is told."""


@record
class HostOp:
    """Ops of one kind that run in host segments.

    Args:
        op: their mnemonic in dialect nn.
        nodes: of the model that they come from.
        flops: of all of them.
        why: the device does not run them; each reason once.
    """

    op: str
    nodes: tuple[str, ...]
    flops: int
    why: tuple[str, ...]


@record
class ReadinessFindings:
    """The findings about a model: whether it compiles, and what stands in its way.

    Args:
        facts: of its file.
        file_bytes: of the file, or of all files of a folder.
        refusals: nodes that cannot be imported; then what follows is about the others.
        wanted: integer inputs whose values would help.
        open: dimensions that nobody fixed, which `ttc compile` ends at; the rest was checked with the shapes that it suggests.
        failure: why it does not compile, or would not with those shapes.
        stage: the last that was reached.
        flops: of the model, once simplified; None where it was not reached.
        host: ops in host segments, those with the most arithmetic first.
    """

    facts: Facts
    file_bytes: int
    refusals: tuple[Refusal, ...]
    wanted: tuple[str, ...]
    open: OpenDimensions | None
    failure: Error | None
    stage: str | None
    flops: int | None
    host: tuple[HostOp, ...]
    fixed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Shapes of inputs with open dimensions, as the options give them."""

    @property
    def error(self) -> Error | None:
        """What `ttc compile` with the same options ends in; None if it succeeds."""
        return self.open or self.failure

    @property
    def compiles(self) -> bool:
        """Whether `ttc compile` with the same options succeeds."""
        return self.error is None

    @property
    def assumed(self) -> Mapping[str, tuple[int, ...]]:
        """Shapes of inputs with open dimensions, which were taken so that the rest could be checked."""
        return {} if self.open is None else self.open.likely

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that would help, with examples of values."""
        shapes = [flags_text({name: shape}) for name, shape in self.assumed.items()]
        return (*shapes, *map(values_flag, self.wanted))

    @property
    def compiles_with_flags(self) -> bool:
        """Whether open dimensions are all that is in the way."""
        return self.open is not None and self.failure is None

    @property
    def host_flops(self) -> int:
        """The FLOPs of all ops in host segments."""
        return sum(entry.flops for entry in self.host)


def check(path: Path, options: CompileOptions, program: str | None = None) -> ReadinessFindings:
    """Compile a model as `ttc compile` does, but for reading its weights and writing, and gather what there is to know of it.

    program: whose arithmetic is counted; None: of all.
    Raises: E0101 for options that contradict each other, E0803 for a program that is not asked for, E0102 if there is no such file,
        E0201 to E0204 if it is no model at all.
    """
    from ttc.compiler.driver import check_options

    check_options(options)
    names = [variant.name for variant in variants(options)]
    if program is not None and program not in names and not is_text(path, options):
        raise Error("E0803", f"there would be no program '{program}'", hint=nearest(program, names))
    if not path.exists():
        raise Error("E0102", f"there is no file '{path}'")
    facts = describe_model(path)
    opened = _open(path, options)
    survey = Survey(program)
    known = facts or _facts_of(path, opened)
    taken = _inputs(opened.source)
    fixed = {} if opened.open is not None else _fixed(known.inputs or (), taken or ())
    known = known if known.inputs is not None else replace(known, inputs=taken if opened.open is None else opened.open.inputs)
    later = None if opened.source is None else _compile(opened.source, opened.options, survey)
    failure = opened.failure or later
    found = opened.refusals, opened.wanted, opened.open, failure, survey.stage, survey.flops, survey.host(), fixed
    return ReadinessFindings(known, _file_bytes(path), *found)


def _fixed(inputs: Sequence[OpenInput], taken: Sequence[OpenInput]) -> dict[str, tuple[int, ...]]:
    """Return shapes that inputs with open dimensions were given.  taken: the inputs of the module."""
    shapes = {item.name: item.dims for item in taken}
    found = {item.name: shapes.get(item.name, ()) for item in inputs if not all(isinstance(d, int) for d in item.dims)}
    return {name: tuple(d for d in dims if isinstance(d, int)) for name, dims in found.items() if dims}


@record(frozen=False)
class _Opened:
    """A model as far as it could be imported.

    Args:
        options: to go on with.
        source: None if nothing could be.
        open, failure, refusals, wanted: as in `ReadinessFindings`.
    """

    options: CompileOptions
    source: Source | None = None
    open: OpenDimensions | None = None
    failure: Error | None = None
    refusals: tuple[Refusal, ...] = ()
    wanted: tuple[str, ...] = ()


def _open(path: Path, options: CompileOptions) -> _Opened:
    """Import a model as `ttc compile` does, and if that leaves dimensions open, once more with likely sizes."""
    found = _Opened(options)
    try:
        _read(path, found)
    except OpenDimensions as error:
        found.open = error
        first = variants(options)[0]  # which the others are like, but for their sizes
        found.options = replace(options, shape=tuple(sorted({**first.shapes, **error.likely}.items())), batch=first.batch)
        _read(path, found)
    return found


def _read(path: Path, found: _Opened) -> None:
    """Import with the options found, what can be imported.  Raises OpenDimensions."""
    try:
        found.source = open_source(path, found.options)
    except OpenDimensions:
        raise
    except UnsupportedOps as error:
        found.failure, found.refusals, found.wanted = error, error.refusals, error.wanted
        found.source = Source(*error.rest(), "import") if error.rest is not None else None
    except Error as error:
        found.failure = error


def _compile(source: Source, options: CompileOptions, survey: Survey) -> Error | None:
    """Why the rest of the compilation fails; None if it does not.  The archive is made and checked, but its tensors are not read."""
    from ttc.compiler.driver import compile_source

    try:
        result = compile_source(source, replace(options, from_=None), [survey])
        if result.package is not None:
            result.verify()
    except Error as error:
        return error
    return None


def _inputs(source: Source | None) -> tuple[OpenInput, ...] | None:
    """Return inputs of a module, their dimensions fixed; None for one past stage nn, whose types are those of the target."""
    if source is None or source.stage not in ("import", "nn"):
        return None
    function = entry_functions(source.module)[0]
    specs = [spec_of(argument.type) for argument in function.body.block.args]
    return tuple(OpenInput(port.name, spec.shape, spec.dtype) for port, spec in zip(ports(function)[0], specs, strict=True))


def _facts_of(path: Path, opened: _Opened) -> Facts:
    """Facts of a kind of model that tells none without an import: of what it was mapped to, and what was refused."""
    source = opened.source
    kind = KIND_NAMES.get("/" if path.is_dir() else path.suffix.lower(), path.suffix.lstrip("."))
    refused = Counter({row.op: len(row.nodes) for row in opened.refusals})
    if source is None:
        return Facts(kind, {}, dict(refused.most_common()))
    weights = [source.weights[key] for key in source.weights]
    ops = refused + Counter(op.name.removeprefix("nn.") for op in nn_ops(source.module))
    elements = [prod(weight.shape) for weight in weights]
    size_bytes = sum(count * weight.dtype.itemsize for count, weight in zip(elements, weights, strict=True))
    return Facts(kind, {}, dict(ops.most_common()), len(weights), sum(elements), size_bytes)


def nn_ops(module: ModuleOp, program: str | None = None) -> list[NNOp]:
    """Return ops of dialect nn in entry functions, or in one of them; those in regions belong to the ops that have these."""
    functions = [function for function in entry_functions(module) if program in (None, function.sym_name.data)]
    return [op for function in functions for op in function.body.block.ops if isinstance(op, NNOp)]


def _file_bytes(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    files = [file for file, _ in zip(path.rglob("*"), range(MAX_FILES), strict=False)]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


@record(frozen=False)
class Survey(Watcher):
    """Counts arithmetic at the end of stage nn, and of what is left to the host at the end of stage tile."""

    program: str | None = None
    stage: str | None = None
    flops: int | None = None
    _left: list[tuple[str, tuple[str, ...], int]] = field(default_factory=list)
    _regions: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    _whys: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def on_stage(self, stage: str, unit: Unit) -> None:
        self.stage = stage
        if stage in ("import", "nn"):
            ops = nn_ops(unit.module, self.program)
            self.flops = sum(map(flops_of, ops))
            self._regions = {(op.name, source_names(op.location)): flops_of(op) for op in ops if op.regions}
        if stage == "tile":
            self._left = [
                (op.name.removeprefix("nn."), source_names(op.location), self._flops(op)) for op in nn_ops(unit.module, self.program)
            ]

    def _flops(self, op: NNOp) -> int:
        """Arithmetic of an op that is left to the host; what stands in its regions is of dialect tile by then."""
        return self._regions.get((op.name, source_names(op.location)), 0) if op.regions else flops_of(op)

    def remark(self, remark: Remark) -> None:
        if remark.kind == "missed" and remark.message.startswith("nn."):
            op, _, why = remark.message.removeprefix("nn.").partition(" runs on the host: ")
            self._whys[op, remark.location] = why

    def host(self) -> tuple[HostOp, ...]:
        """Return ops that run in host segments."""
        rows: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for op, names, flops in self._left:
            rows.setdefault(op, []).append((names, flops))
        found = [
            HostOp(
                op,
                tuple(dict.fromkeys(names[0] if names else "?" for names, _ in entries)),
                sum(flops for _, flops in entries),
                tuple(dict.fromkeys(why for names, _ in entries if (why := self._whys.get((op, names))))),
            )
            for op, entries in rows.items()
        ]
        return tuple(sorted(found, key=lambda entry: (-entry.flops, entry.op)))
