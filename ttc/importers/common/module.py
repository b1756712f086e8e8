"""The end of an import: the function closed, the module and its weights; and errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.functions import Port, finish_function, ports, set_module_attr
from ttc.dialects.core.weights import WeightStore
from ttc.importers.common.builder import Builder

MAX_MESSAGE = 2000
"""Characters: what a hostile file makes a message quote is cut."""


def finished(model: str, function: func.FuncOp, builder: Builder, results: Sequence[tuple[Port, SSAValue]]) -> tuple[ModuleOp, WeightStore]:
    """The module at the end of stage import, with this entry function, and the weights that it uses.

    Args:
        model: its name.
        function: with its arguments, its body still empty.
        builder: of the function's ops and leaves.
        results: of the function, in order.
    Raises: E0202 with the table of what was refused.
    """
    if builder.misses.rows:
        raise builder.misses.report()
    block = function.body.block
    weights = builder.finish(block, {value for _, value in results})
    finish_function(function, results)
    module = ModuleOp([function])
    set_module_attr(module, "model", model)
    set_module_attr(module, "stage", "import")
    names = [port.name for port in ports(function)[0]]
    fixed = tuple(name for name, argument in zip(names, block.args, strict=True) if argument in builder.fixed)
    if fixed:
        set_module_attr(module, "fixed_inputs", fixed)
    return module, weights


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Errors raised inside name the file, and quote no more of it than a screen holds."""
    try:
        yield
    except Error as error:
        error.where = f"{file}: {error.where}" if error.where else file
        error.message = error.message if len(error.message) <= MAX_MESSAGE else error.message[:MAX_MESSAGE] + "..."
        raise
