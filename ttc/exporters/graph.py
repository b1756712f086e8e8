"""What exporters of models start from: one program at stage nn, as a plain function with named inputs, outputs and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttc.compiler.driver import compile_path
from ttc.compiler.source import is_text
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.entries import entry_functions, module_attr, ports
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.options import CompileOptions
from ttc.passes.base import Instrument

LEAVES = ("ttc.constant", "ttc.param", "ttc.state")
ROWS_FIRST = "nn:fuse-bias@2"
"""Where compilation stops for formats whose convolutions have channels first: before `channels-last`."""


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
    """

    model: str
    inputs: tuple[str, ...]
    outputs: tuple[ProgramOutput, ...]
    function: Function
    weights: WeightStore
    target: Target

    def leaf(self, work: Work) -> NDArray:
        """Return the value of a leaf: a weight, or a literal.  Raises E0304."""
        if "key" in work.attrs:
            return self.weights[str(work.attrs["key"])].value()
        (kind,) = work.results
        return np.array(work.attrs["values"], dtype_of(kind)).reshape(kind.shape)


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
    if path.suffix.lower() == ".tti":
        message = f"{path.name} holds no ops of dialect nn: an archive has a netlist alone"
        raise Error("E0101", message, hint="export from the model, or from the text that `ttc compile --to nn` writes")
    stop = ROWS_FIRST if channels_first and not is_text(path, options) else "nn"
    unit = compile_path(path, replace(options, to=stop), instruments).unit
    functions = {function.sym_name.data: function for function in entry_functions(unit.module)}
    name = program or next(iter(functions))
    if name not in functions:
        raise Error("E0803", f"there is no program '{name}'", hint=nearest(name, functions))
    if program is None and len(functions) > 1:
        raise Error("E0101", f"the model has {len(functions)} programs", hint=f"choose one with --program: {', '.join(functions)}")
    arguments, results = ports(functions[name])
    return ModelGraph(
        str(module_attr(unit.module, "model") or "model"),
        tuple(port.name for port in arguments),
        tuple(ProgramOutput(port.name, port.updates) for port in results),
        plain_block(functions[name].body.block),
        unit.weights,
        unit.target,
    )
