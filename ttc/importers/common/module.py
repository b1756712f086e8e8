"""The end of an import: the function closed, the module and its weights; and errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, finish_function, ports, set_module_attr
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.ir.values import ModuleOp, SSAValue, func
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.common.builder import Builder
from ttc.runtime.contract import FixedInput

MAX_MESSAGE = 2000
"""The most characters of a message: quotations from a hostile file are cut."""


def finished(
    model: str,
    function: func.FuncOp,
    builder: Builder,
    results: Sequence[tuple[Port, SSAValue]],
    items: Sequence[str] = (),
    absent: Sequence[tuple[str, str]] = (),
) -> tuple[ModuleOp, WeightStore]:
    """Return the module at the end of stage import, with this entry function, and the weights that it uses.

    Args:
        model: its name.
        function: with its arguments, its body still empty.
        builder: of the function's ops and leaves.
        results: of the function, in order.
        items: arguments that are tensors of inputs which the model declares as sequences or optionals.
        absent: inputs of the model that there are no arguments for, with the reason: one of `ttc.runtime.contract.ABSENT`.
    Raises: E0202 with the table of what was refused.
    """
    block = function.body.block
    named = list(zip([port.name for port in ports(function)[0]], block.args, strict=True))
    if builder.misses.rows:
        wanted = [name for name, argument in named if argument in builder.wanted]
        raise builder.misses.report(wanted, partial(_rest, model, function, builder) if builder.made else None)
    weights = builder.finish(block, {value for _, value in results})
    finish_function(function, results)
    module = ModuleOp([function])
    set_module_attr(module, "model", model)
    set_module_attr(module, "stage", "import")
    _set_rows(module, "fixed_inputs", [_fixed(name, builder.fixed[a], spec_of(a.type)) for name, a in named if a in builder.fixed])
    specs = {name: spec_of(argument.type) for name, argument in named if name in items}
    _set_rows(module, "item_inputs", [(name, spec.shape, str(spec.dtype)) for name, spec in specs.items()])
    _set_rows(module, "absent_inputs", absent)
    return module, weights


def _rest(model: str, function: func.FuncOp, builder: Builder) -> tuple[ModuleOp, WeightStore]:
    """Return the module of what was made before the import was given up."""
    unread = [result for op in builder.made for result in op.results if not result.uses]
    builder.misses.rows.clear()
    return finished(model, function, builder, [(Port(str(index)), result) for index, result in enumerate(unread)])


def _fixed(name: str, value: NDArray, spec: Spec) -> tuple[Plain, ...]:
    return astuple(FixedInput.of(name, value.astype(spec.dtype)))


def _set_rows(module: ModuleOp, name: str, rows: Sequence[tuple[Plain, ...]]) -> None:
    """Set an attribute of the module, if there are any rows."""
    if rows:
        set_module_attr(module, name, tuple(rows))


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Let errors raised inside the block name the file, and quote no more of it than a screen holds."""
    try:
        yield
    except Error as error:
        error.where = f"{file}: {error.where}" if error.where else file
        error.message = error.message if len(error.message) <= MAX_MESSAGE else error.message[:MAX_MESSAGE] + "..."
        raise
