"""Intermediate values as outputs, by the names of the nodes that make them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function, ports
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp


@record(frozen=False)
class AlreadyOutput(Error):
    """E0206 for a probe that has the name of an output.

    Args:
        output: its name.
    """

    output: str = ""


def add_probes(module: ModuleOp, names: Sequence[str]) -> None:
    """Make the last value of each node an output of its entry function, under the node's name.

    The value then stays through all stages, which keeps ops from being fused over it.
    Raises: E0206 for a name that no node has, or that an output has already.
    """
    for name in names:
        found = [op for function in entry_functions(module) for op in function.walk() if _made_by(op, name)]
        if not found:
            known = {n for function in entry_functions(module) for op in function.walk() for n in source_names(op.location)}
            raise Error("E0206", f"the model has no node '{name[:80]}'", hint=nearest(name, known))
        _expose(found[-1], name)


def _made_by(op: Operation, name: str) -> bool:
    return isinstance(op, NNOp) and name in source_names(op.location)


def _expose(op: Operation, name: str) -> None:
    function = op.parent_op()
    while not isinstance(function, func.FuncOp):
        function = function.parent_op() if function is not None else None
        if function is None:
            raise Error("E0206", f"node '{name}' is in no program")
    if op.parent is not function.body.block:
        raise Error("E0206", f"node '{name}' is inside a loop or branch, whose values cannot be outputs")
    _, results = ports(function)
    if any(port.name == name for port in results):
        raise AlreadyOutput("E0206", f"the model has an output '{name}' already", output=name)
    last = function.body.block.last_op
    assert last is not None
    values = list(last.operands)
    last.detach()
    last.erase()
    finish_function(function, [*zip(results, values, strict=True), (Port(name), op.results[0])])
