"""Ops of a module of IR as the page draws them: what each computes, what feeds it, which nodes of the model it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.locations import source_names
from ttc.view.texts import all_clipped, attributes_of, clipped, type_text


def module_ops(module: ModuleOp) -> list[dict[str, Any]]:
    """Return the ops of all entry functions in program order, with the inputs and outputs of each; operands are places in this list.

    Parameters and constants are no ops of their own: an op names those that it reads under `weights`.
    """
    found: list[dict[str, Any]] = []
    for function in entry_functions(module):
        found.extend(_function_ops(function, len(found)))
    return found


def _function_ops(function: FuncOp, first: int) -> Iterator[dict[str, Any]]:
    name = clipped(function.sym_name.data)
    arguments, results = ports(function)
    places: dict[SSAValue, int] = {}
    leaves: dict[SSAValue, str] = {}
    number = first
    for port, value in zip(arguments, function.body.block.args, strict=True):
        places[value] = number
        yield {"name": "input", "kind": "input", "function": name, "sources": [clipped(port.name)], "type": type_text(value.type)}
        number += 1
    for op in function.body.block.ops:
        if isinstance(op, LeafOp):
            leaves[op.result] = clipped(op.key or op.plain_attrs().get("sym") or "a literal")
        elif isinstance(op, TtcOp) and op.results:
            places.update(dict.fromkeys(op.results, number))
            yield _op(op, name, places, leaves)
            number += 1
    last = function.body.block.last_op
    for port, value in zip(results, last.operands if last is not None else (), strict=True):
        inputs = [places[value]] if value in places else []
        yield {"name": "output", "kind": "output", "function": name, "sources": [clipped(port.name)], "inputs": inputs}


def _op(op: TtcOp, function: str, places: dict[SSAValue, int], leaves: dict[SSAValue, str]) -> dict[str, Any]:
    inner = [work for work in op.walk() if isinstance(work, TtcOp) and work is not op]
    sources = dict.fromkeys((*source_names(op.location), *(name for work in inner for name in source_names(work.location))))
    found = {
        "name": op.name,
        "kind": "op",
        "function": function,
        "sources": all_clipped(sources),
        "type": type_text(op.results[0].type),
        "inputs": [places[value] for value in op.operands if value in places],
        "weights": [leaves[value] for value in op.operands if value in leaves],
        "attributes": attributes_of(op),
        "body": [_line(work) for work in inner if work.results],
    }
    return {key: value for key, value in found.items() if value != [] and value != {}}


def _line(op: TtcOp) -> str:
    told = ", ".join(f"{name}={value}" for name, value in attributes_of(op).items())
    return clipped(f"{op.name}({told})")
