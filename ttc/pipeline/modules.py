"""What a stage can be made of, and how each kind is compiled: modules of PyTorch and ours, Keras models, model files, IR text, archives."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ttc.api import compile, is_file, is_torch, source_of
from ttc.compiler.probes import AlreadyOutput
from ttc.compiler.source import Source
from ttc.dialects.core.errors import Error, nearest
from ttc.loading import on_engine
from ttc.pipeline.device import Device
from ttc.pipeline.stage import Arrays, check_count, tensor
from ttc.runtime.arguments import inputs_of
from ttc.runtime.program import Program
from ttc.train.updates import BACKWARD, FORWARD

_OF_IMPORTS = ("shape", "batch", "values", "weights")
"""Options of devices that say how a model is imported."""
NO_GRADIENTS = "E0506"
"""The code of the error of a training program in which nothing has a gradient."""


def program_for(
    stage: str, module: Any, device: Device, examples: Arrays, *, training: bool, optimizer: Any, first: bool, taps: Sequence[str]
) -> tuple[Program, tuple[str, ...]]:
    """Compile a stage for inputs like the examples, and return the program with those taps that are outputs of it alone.

    Args:
        training: whether gradients and updates are part of it; gradients of outputs are inputs then.
        optimizer: that updates its parameters; None: they are not updated.
        first: whether nobody wants the gradients of its inputs.
        taps: source names of ops whose values are outputs, too.
    Raises: what `ttc.compile` raises, with the stage's name.
    """
    if isinstance(module, Program) or (is_file(module) and Path(module).suffix == ".tti"):
        return on_engine(_of_archive(stage, module, training, taps), device.running), ()
    fields: dict[str, Any] = {**device.compiling, "target": device.target}
    if training:
        fields |= {**device.training, "training": True, "stash": True, "optimizer": optimizer, "input_gradients": not first}
    given, probes = _examples(stage, module, examples), list(dict.fromkeys(taps))
    while True:
        try:
            probed = {"probe": tuple(probes)} if probes else {}
            return on_engine(_compiled(module, given, {**fields, **probed}), device.running), tuple(probes)
        except AlreadyOutput as error:
            probes.remove(error.output)
        except Error as error:
            if not (training and first and error.code == NO_GRADIENTS and not fields["input_gradients"]):
                raise error.at(f"stage '{stage}'") from None
            fields["input_gradients"] = True  # without parameters nothing else has gradients, and a program without any is none of training


def imported(module: Any, examples: Arrays, device: Device) -> Source:
    """Import a model for inputs like the examples, as options of a device say, without compiling it.  Raises what importing raises."""
    fields = {name: value for name, value in device.compiling.items() if name in _OF_IMPORTS}
    return source_of(module, _examples("model", module, examples), **fields)


def _compiled(module: Any, examples: Any, fields: Mapping[str, Any]) -> Program:
    return compile(module, examples, **{name: value for name, value in fields.items() if value is not None})


def _of_archive(stage: str, module: Any, training: bool, taps: Sequence[str]) -> Program:
    from ttc.runtime.loader import load_program

    program = module if isinstance(module, Program) else load_program(Path(module))
    known = program.description.training
    if training and (known is None or not _is_split(program)):
        hint = "compile it with training=True, stash=True, and no loss, or give the model"
        raise Error("E0803", f"the program of stage '{stage}' has no backward pass of its own for gradients of its outputs", hint=hint)
    if taps:
        raise Error("E0101", f"stage '{stage}' is compiled already: nothing of it can be tapped", hint="give the model")
    return program


def _is_split(program: Program) -> bool:
    """Return whether forward keeps what backward reads, which may be nothing."""
    entries = program.netlists.surface.programs
    if BACKWARD not in entries:
        return False
    inputs = {argument.name for argument in inputs_of(program.entry(FORWARD))}
    return inputs.isdisjoint(argument.name for argument in inputs_of(program.entry(BACKWARD)))


def _examples(stage: str, module: Any, arrays: Arrays) -> Any:
    """Return inputs as `ttc.compile` takes them for a kind of module."""
    if isinstance(module, Source):
        return None
    if is_torch(module):
        return tuple(tensor(array.copy()) for array in arrays)
    if not is_file(module):
        return arrays
    if Path(module).suffix.lower() == ".mlir":
        return None
    names = _names_of_file(Path(module))
    check_count(stage, arrays, len(names))
    return dict(zip(names, arrays, strict=True))


def _names_of_file(path: Path) -> list[str]:
    """Return names of a model's inputs, in order."""
    from ttc.dialects.core.ir.entries import entry_functions, ports
    from ttc.importers.base import import_model
    from ttc.importers.common.inputs import OpenDimensions

    try:
        module, _ = import_model(path)
    except OpenDimensions as error:
        return [item.name for item in error.inputs]
    arguments, _ = ports(entry_functions(module)[0])
    return [port.name for port in arguments]


def in_order(stage: str, module: Any, named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return inputs that are given by name in the order in which a stage takes them.  Raises E0801 for unknown and missing names."""
    if not is_file(module) and hasattr(module, "forward"):
        try:
            return tuple(inspect.signature(module.forward).bind(**named).arguments.values())
        except TypeError as error:
            raise Error("E0801", f"stage '{stage}' does not take these inputs: {error}") from None
    names = _names(stage, module)
    for name in named:
        if name not in names:
            raise Error("E0801", f"stage '{stage}' has no input '{str(name)[:80]}'", hint=nearest(str(name), names))
    missing = [name for name in names if name not in named]
    if missing:
        raise Error("E0801", f"stage '{stage}' lacks inputs {', '.join(missing)}")
    return tuple(named[name] for name in names)


def _names(stage: str, module: Any) -> list[str]:
    if is_file(module) and Path(module).suffix.lower() not in (".mlir", ".tti"):
        return _names_of_file(Path(module))
    raise Error("E0801", f"names of inputs of stage '{stage}' are not known before it is compiled", hint="push arrays in order")
