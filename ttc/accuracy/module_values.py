"""What a module computes, at any point of the pipeline: op by op, as the reference semantics of its stage say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ttc import __version__
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named, format_of
from ttc.dialects.core.ir.entries import Port, microbatches_of, module_attr, ports, programs_of_functions
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Argument, Host
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, queues_of
from ttc.dialects.netlist.to_model import to_model
from ttc.inputs.npy_files import draw, read_bundle
from ttc.passes.base import Unit
from ttc.passes.emit import package_of
from ttc.passes.recorded_inputs import fixed_inputs
from ttc.runtime.contract import known_values
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.executor import Executor
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants

Arrays = dict[str, NDArray]
UNDECIDED = {"location": "host", "chip": 0, "grid": (1, 1), "buffer_bytes": 0}
"""Fields of queues that have no influence on what is computed."""


@record
class InputSpec:
    """What the user gives for an input: shape and dtype of the array."""

    shape: tuple[int, ...]
    dtype: np.dtype


def input_specs(module: ModuleOp) -> dict[str, dict[str, InputSpec]]:
    """Return the inputs by entry function and name, of a module at the end of stage import or nn."""
    found: dict[str, dict[str, InputSpec]] = {}
    for functions in programs_of_functions(module):
        program = found.setdefault(functions[0].sym_name.data, {})
        given = {port.name for function in functions[:-1] for port in ports(function)[1]}
        for function in functions:
            for port, argument in zip(ports(function)[0], function.body.block.args, strict=True):
                if port.name not in given:
                    program[port.name] = _input_spec(port, spec_of(argument.type), microbatches_of(function))
    return found


def _input_spec(port: Port, spec: Spec, count: int) -> InputSpec:
    """Return what the user gives for an argument of a function that takes so many microbatches."""
    shape = spec.shape if port.streamed is None else port.streamed.resized(spec.shape, 1, count)
    return InputSpec(shape, port.dtype or spec.dtype)


def drawn_inputs(module: ModuleOp, seed: int, bundle: Path | Mapping[str, NDArray] | None = None) -> dict[str, Arrays]:
    """Return inputs of every entry function: those of an .npz file or by name, those the model was made for, and random ones.

    A program that takes another shape under the name of a given array, as a step of several microbatches does, gets a random one.
    Random floats are standard normal; integers and booleans are 0 or 1, so that indices of any table and masks are both in range, and
    texts are their digits.
    Raises: E0102 for an unreadable file, E0801 for an array that does not fit or has no input.
    """
    all_specs = input_specs(module)
    known = {name: _argument(name, spec) for specs in reversed(all_specs.values()) for name, spec in specs.items()}  # the first ones
    given = read_bundle(bundle, known) if isinstance(bundle, Path) else bundle or {}
    for name, value in given.items():
        if not any(value.shape == specs[name].shape for specs in all_specs.values() if name in specs):
            raise Error("E0801", f"there is no input '{name}' of shape {list(value.shape)}", hint=nearest(name, known))
    fixed = known_values(fixed_inputs(module_attr(module, "fixed_inputs")))
    generator = np.random.default_rng(seed)
    found: dict[str, Arrays] = {}
    for program, specs in all_specs.items():
        drawn = {name: draw(_argument(name, spec), generator) for name, spec in specs.items()}
        fitting = {name: value for name, value in (fixed | dict(given)).items() if name in specs and value.shape == specs[name].shape}
        found[program] = drawn | fitting
    return found


def _argument(name: str, spec: InputSpec) -> Argument:
    return Argument(name, "input", "", spec.shape, str(spec.dtype))


def evaluate(unit: Unit, inputs: Mapping[str, Mapping[str, NDArray]], execute: interpret.Execute = interpret.run_work) -> dict[str, Arrays]:
    """Return outputs, and new values of parameters and states, by entry function and name.

    Args:
        unit: at any point of stages import to netlist; it is not changed.
        inputs: of every entry function, in the shapes and dtypes of users.
        execute: runs one op, of the stages before netlist.
    Raises: E0801 for a missing input, and what the ops raise.
    """
    if queues_of(unit.module):
        return _run_netlist(unit, inputs)
    found: dict[str, Arrays] = {}
    for functions in programs_of_functions(unit.module):
        name = functions[0].sym_name.data
        given, results = _of(inputs, name), Arrays()
        for function in functions:
            results |= _run_function(function, {**given, **results}, unit.weights, execute)
        taken = {port.name for function in functions[1:] for port in ports(function)[0]}
        found[name] = {key: value for key, value in results.items() if key not in taken}
    return found


def _of(inputs: Mapping[str, Mapping[str, NDArray]], name: str) -> Mapping[str, NDArray]:
    if name not in inputs:
        raise Error("E0801", f"there are no inputs for program '{name}'", hint=nearest(name, inputs))
    return inputs[name]


# ---- stages import, nn and tile -------------------------------------------------------------------------------------------------


def _run_function(given: FuncOp, inputs: Mapping[str, NDArray], weights: WeightStore, execute: interpret.Execute) -> Arrays:
    """Return the function on each microbatch; streamed results are put together, summed ones added up, states go from each to the next."""
    function, (arguments, results) = plain_block(given.body.block), ports(given)
    changed: dict[str, NDArray] = {}

    def resolve(work: Work) -> NDArray:
        if str(work.attrs.get("sym")) in changed:
            return changed[str(work.attrs["sym"])]
        value = weights[str(work.attrs["key"])].value()
        held = format_named(work.results[0].format)
        return held.round(format_of(value.dtype).unpack(value).astype(held.compute, copy=False))

    entries = [_entries(port, type_, inputs) for port, type_ in zip(arguments, function.inputs, strict=True)]
    count = max(map(len, entries), default=1)
    runs: list[list[NDArray]] = []
    for i in range(count):
        runs.append(interpret.run(function, [item[i if len(item) > 1 else 0] for item in entries], resolve, execute))
        changed |= {port.updates: value for port, value in zip(results, runs[-1], strict=True) if port.updates is not None}
    return {_name(port): _together(port, [run[index] for run in runs]) for index, port in enumerate(results)}


def _together(port: Port, parts: Sequence[NDArray]) -> NDArray:
    """Return a result of several microbatches."""
    if port.summed:
        return sum(parts[1:], parts[0])
    return port.streamed.joined(parts) if port.streamed is not None and len(parts) > 1 else parts[-1]


def _name(port: Port) -> str:
    return port.name if port.updates is None else f"new {port.updates}"


def _entries(port: Port, type_: TensorType, inputs: Mapping[str, NDArray]) -> list[NDArray]:
    """Return a user's array as the values of an argument, one a microbatch."""
    if port.name not in inputs:
        raise Error("E0801", f"there is no value for input '{port.name}'", hint=nearest(port.name, inputs))
    array, held = inputs[port.name], format_named(type_.format)
    value = held.round(format_of(array.dtype).unpack(array).astype(held.compute, copy=False))
    if port.streamed is None:
        return [value.reshape(type_.shape)]
    return [part.reshape(type_.shape) for part in port.streamed.parts(value, value.size // prod(type_.shape))]


# ---- stage netlist --------------------------------------------------------------------------------------------------------------


def _run_netlist(unit: Unit, inputs: Mapping[str, Mapping[str, NDArray]]) -> dict[str, Arrays]:
    decided = Unit(_decided(unit.module), unit.weights, unit.target)
    package = package_of(decided, to_model(decided.module), __version__)
    constants = Constants(package.tensors)
    netlists = Netlists(lambda: package.netlist, package.description)
    program = Program(netlists, package.description, constants, Plans(ReferenceEngine(), netlists, constants))
    found: dict[str, Arrays] = {}
    for name in package.netlist.programs:
        with Executor(program) as executor:
            found[name] = executor.run(_of(inputs, name), name)
            now, updated = executor.states() | executor.parameters(), {r.updates for r in package.netlist.programs[name].results}
            found[name] |= {f"new {key}": value for key, value in now.items() if key in updated}
    return found


def _decided(module: ModuleOp) -> ModuleOp:
    """Return a copy in which every op and queue has a place, where passes have not decided it yet."""
    copy = module.clone()
    counts = [op.input_count for op in copy.ops if isinstance(op, GraphOp)]
    fillers = {"entries": max(counts, default=1), **UNDECIDED}
    for op in copy.walk():
        if isinstance(op, NetlistOp) and (op.place is None or not op.buffers):
            op.place, op.blocking = Host(), None
        elif isinstance(op, QueueOp) and any(op.get(name) is None for name in (*fillers, "buffers")):
            for name, value in fillers.items():
                op.set(name, value)
            op.buffers, op.blocking = ((0, 0),), None
    return copy
