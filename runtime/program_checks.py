"""Checks that netlist, tensors and description make up one program."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.checks import require_valid
from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Netlist, Program
from ttc.runtime.arguments import entries_of
from ttc.runtime.contract import check_contract
from ttc.runtime.machine.limits import UNBOUNDED
from ttc.runtime.manifest import DTYPE_NAMES, Description, state_keys
from ttc.runtime.tensors import TensorSource


def check_program(netlist: Netlist, description: Description, tensors: Mapping[str, TensorSource]) -> None:
    """Raises E06xx for a netlist that breaks a rule, E0702 for one in Buda's own form, E0703 for tensors or a description that do not fit
    it.
    """
    if netlist.positions != "order":
        raise Error(
            "E0702", "its programs set the positions in queues themselves", hint="run the Buda netlist it comes from: ttc netlist run"
        )
    require_valid(netlist)
    _check_tensors(netlist, description, tensors)
    _check_variables(description, tensors)
    for program in netlist.programs.values():
        _check_entry(program, netlist, description)
    check_contract(description.fixed_inputs, netlist.programs.values())


def _check_variables(description: Description, tensors: Mapping[str, TensorSource]) -> None:
    """Parameters and states have as many elements as the tensors and leaves of expressions that stand for them.  Raises E0703."""
    variables = {**description.parameters, **description.states}
    shapes = [(name, tensors[v.key].shape) for name, v in variables.items() if v.key is not None and v.key in tensors]
    for derived in description.derived:
        for work in derived.function.works:
            sym = work.attrs.get("sym")
            if work.op == "ttc.param" and isinstance(sym, str) and sym in description.parameters and work.results:
                shapes.append((sym, work.results[0].shape))
    for name, shape in shapes:
        if prod(shape) != prod(variables[name].shape):
            raise Error("E0703", f"'{name}' of shape {list(variables[name].shape)} is stored or used with shape {list(shape)}")


def _check_tensors(netlist: Netlist, description: Description, tensors: Mapping[str, TensorSource]) -> None:
    """Every queue that is filled from a tensor finds one of its shape and format; every state has one.  Raises E0703."""
    for queue in netlist.queues.values():
        if queue.kind not in ("parameter", "constant", "state"):
            continue
        tensor = tensors.get(queue.key or "")
        if tensor is None:
            raise Error("E0703", f"queue '{queue.name}' is filled from tensor '{queue.key}', which is not there")
        if (tensor.shape, tensor.format) != (queue.tensor.shape, queue.tensor.format):
            found = f"{tensor.format}{list(tensor.shape)}, not {queue.tensor.format}{list(queue.tensor.shape)}"
            raise Error("E0703", f"tensor '{queue.key}' is {found}, as queue '{queue.name}' has it")
    states = state_keys(description.states)
    for queue in netlist.queues.values():
        if queue.kind == "state" and queue.key not in states:
            raise Error("E0703", f"queue '{queue.name}' holds the state in tensor '{queue.key}', but the model has no such state")
    for name, variable in description.states.items():
        if variable.key not in tensors:
            raise Error("E0703", f"state '{name}' starts from tensor '{variable.key}', which is not there")


def _check_entry(program: Program, netlist: Netlist, description: Description) -> None:
    """What the rules of netlists leave open: element types, updates, microbatches of a run.  Raises E06xx or E0703."""
    for argument in (*program.arguments, *program.results):
        if argument.dtype not in DTYPE_NAMES:
            raise Error("E0609", f"'{argument.dtype}' is no element type", f"{program.name}: {argument.name}")
        for queue in argument.queues:
            entries_of(argument, netlist.queues[queue])
    for result in program.results:
        if result.updates is not None and result.updates not in {**description.parameters, **description.states}:
            raise Error("E0703", f"result '{result.name}' updates '{result.updates}', which the model does not have", program.name)
    for graph in executed_graphs(program):
        if netlist.graphs[graph].input_count > UNBOUNDED.microbatches:
            raise Error("E0608", f"the program executes '{graph}', which runs without end", program.name)
