"""What exporters of models start from: one program at stage nn, as a plain function with named inputs, outputs and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func

from ttc.compiler.archived_source import archived_source, is_archive
from ttc.compiler.driver import check_options, compile_path, compile_source
from ttc.compiler.source import is_text, open_source
from ttc.dialects.core.batch_axis import OUTERMOST
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.entries import entry_functions, module_attr, ports, programs_of_functions
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.options import CompileOptions
from ttc.passes.base import Instrument, Unit
from ttc.passes.manager import run_passes
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn.consteval import Consteval
from ttc.passes.nn.lower_recurrent import LowerRecurrent
from ttc.passes.nn_to_tile.carriers import Carriers
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows
from ttc.passes.nn_to_tile.stream_batch import resize_batch

ROWS_FIRST = "nn:fuse-bias@2"
"""The pass before which compilation stops for formats whose convolutions have channels first: `channels-last`."""


@record
class ProgramOutput:
    """A result of a program: its name, and the state or parameter whose new value it is, if any."""

    name: str
    updates: str | None


@record
class ModelGraph:
    """One program of a model at the end of stage nn.

    Args:
        model: its name.
        inputs: names of the function's inputs, in order.
        outputs: of the function's results, in order.
        function: the program as plain works; leaves name their weights by key.
        weights: values by key.
        target: the machine it was compiled for.
        program: its name among the model's programs.
        chips: how many divide the tensors of its layers.
        kept: names of products that each of them computes as a whole.
    """

    model: str
    inputs: tuple[str, ...]
    outputs: tuple[ProgramOutput, ...]
    function: Function
    weights: WeightStore
    target: Target
    program: str = "forward"
    chips: int = 1
    kept: tuple[str, ...] = ()

    def leaf(self, work: Work) -> NDArray:
        """Return the value of a leaf, for all chips: a weight, or columns of one, or a literal.  Raises E0304."""
        if "columns" in work.attrs:
            dim, start, size = cast("tuple[int, int, int]", work.attrs["columns"])
            return self.weights[str(work.attrs["key"])].value().take(range(start, start + size), axis=dim)
        if "key" in work.attrs:
            return self.weights[str(work.attrs["key"])].value()
        (kind,) = work.results
        parts = cast("int | None", work.attrs.get("parts"))
        shape = [size * self.chips if dim == parts else size for dim, size in enumerate(kind.shape)]
        return np.array(work.attrs["values"], dtype_of(kind)).reshape(shape)


def dtype_of(kind: TensorType) -> np.dtype:
    """Return the numpy dtype of a tensor of stage nn."""
    return format_named(kind.format).array_dtype


def graph_of(
    path: Path, options: CompileOptions, program: str | None = None, *, channels_first: bool = False, instruments: Sequence[Instrument] = ()
) -> ModelGraph:
    """Compile a model, or IR text, as far as stage nn, and take one of its programs.

    Args:
        program: its name, where there are several.
        channels_first: leave convolutions with channels first, as models have them.
    Raises: E0101 for an archive or a program that has to be named; what compilation raises.
    """
    is_model = not is_archive(path) and not is_text(path, options)
    stop = ROWS_FIRST if channels_first and is_model else "nn"
    return _graph(*_compiled(path, replace(options, to=stop), program, instruments))


def graphs_of(path: Path, options: CompileOptions, program: str | None = None) -> list[ModelGraph]:
    """Compile a model as far as stage nn, and take the program of that name, or all of them.  Raises what `graph_of` does."""
    unit = _unit(path, replace(options, to="nn"), ())
    functions = entry_functions(unit.module) if program is None else [_named(unit, program)]
    return [_graph(unit, function) for function in functions]


def divided_graph_of(path: Path, options: CompileOptions, chips: int, program: str | None = None) -> tuple[ModelGraph, ModelGraph]:
    """Compile a model whose batch chips divide among them; returns its program for all rows, and that for the rows of one chip.

    Both have the same ops in the same order; shapes tell which values hold rows of the batch.  For one chip they are the same.

    Raises: E0101 for a batch that the chips do not divide; E0503 if rows may depend on each other; what `graph_of` raises.
    """
    unit, function = _compiled(path, replace(options, to="nn"), program, ())
    if chips == 1:
        whole = _graph(unit, function)
        return whole, whole
    # constants that a model expands to the batch, such as masks, are divided as constants are
    run_passes((Consteval(any_size=True), Canonicalize()), unit)
    whole, rows = _graph(unit, function), RepeatedRows(unit)
    batch = Carriers.of(function, rows.has)
    size = batch.size
    if size % chips or size < chips:
        raise Error("E0101", f"{chips} chips cannot divide a batch of {size}", hint="give one that they divide by --batch or --shape")
    if batch.reason is not None:
        raise Error("E0503", f"the batch cannot be divided over {chips} chips: {batch.reason}")
    if any(at != OUTERMOST for at in batch.at_ends):
        raise Error("E0503", f"the batch cannot be divided over {chips} chips: it is not the first dimension of all inputs and results")
    for leaf, at in batch.leaves:
        rows.cut(leaf, at, chips)
    resize_batch(batch, size // chips)
    return whole, _graph(unit, function)


def _compiled(path: Path, options: CompileOptions, program: str | None, instruments: Sequence[Instrument]) -> tuple[Unit, func.FuncOp]:
    """Compile as far as the options say; returns the unit, and the function of the program, which may be left out where there is one."""
    unit = _unit(path, options, instruments)
    return unit, _named(unit, program)


def _unit(path: Path, options: CompileOptions, instruments: Sequence[Instrument]) -> Unit:
    """Compile as far as the options say; an archive starts from the text of stage nn that it holds."""
    if not is_archive(path) and not is_text(path, options):
        return compile_path(path, options, instruments).unit
    check_options(options)
    source = archived_source(path, options) if is_archive(path) else open_source(path, options)
    unit = compile_source(source, options, instruments).unit
    if source.stage == "nn":
        # hosts have kernels of whole recurrent layers, so that text which was compiled for one still holds these
        run_passes((LowerRecurrent(), Consteval(), Canonicalize()), unit)
    return unit


def _named(unit: Unit, program: str | None) -> func.FuncOp:
    """Return the function of a program; None: of the only one."""
    programs = programs_of_functions(unit.module)
    functions = {parts[0].sym_name.data: parts[0] for parts in programs}
    name = program or next(iter(functions))
    if name not in functions:
        raise Error("E0803", f"there is no program '{name}'", hint=nearest(name, functions))
    if program is None and len(functions) > 1:
        raise Error("E0101", f"the model has {len(functions)} programs", hint=f"choose one with --program: {', '.join(functions)}")
    if any(parts[0] is functions[name] and len(parts) > 1 for parts in programs):
        raise Error("E0503", f"program '{name}' takes its microbatches one after another on a device", hint="compile it for host")
    return functions[name]


def _graph(unit: Unit, function: func.FuncOp) -> ModelGraph:
    """Return a function of IR as a plain program."""
    arguments, results = ports(function)
    return ModelGraph(
        str(module_attr(unit.module, "model") or "model"),
        tuple(port.name for port in arguments),
        tuple(ProgramOutput(port.name, port.updates) for port in results),
        plain_block(function.body.block),
        unit.weights,
        unit.target,
        function.sym_name.data,
    )
