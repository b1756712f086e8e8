"""Graphs as somebody might write them by hand: attributes, types and operands that do not fit each other."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TypeAlias

import numpy as np

from tests.runtime.engines.native.guarded import Graph
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.netlist.model import Netlist, Op
from ttc.runtime.tensors import TensorSource

NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 64, -1, -2, -3, -7, 1000, 1 << 31, 1 << 40, -(1 << 31), (1 << 63) - 1, 1 << 64)
FORMATS = ("Float32", "Float16_b", "Half", "Float64", "Int32", "Int64", "UInt8", "Bool", "Bfp8_b", "Float16", "Int8", "UInt16", "String")
MAX_ELEMENTS = 1 << 14
_Shape: TypeAlias = tuple[int, ...]


def mutated(rng: Random, graph: Graph) -> Graph:
    """The graph, its last op changed once to three times."""
    found = graph
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = rng.choice((_with_attribute, _with_attribute, _with_result, _with_operand, _with_input))(rng, found)
    return found


def _last(graph: Graph) -> tuple[Op, Work]:
    op = graph.netlist.graphs["g"].ops[-1]
    return op, op.work.works[-1]


def _changed(graph: Graph, work: Work, function: Function | None = None) -> Graph:
    """With other work in the last op; the queue `y` takes what it announces."""
    one = graph.netlist.graphs["g"]
    op = one.ops[-1]
    function = replace(function or op.work, works=(*op.work.works[:-1], work))
    ops = (*one.ops[:-1], replace(op, work=function))
    queues = dict(graph.netlist.queues)
    queues["y"] = replace(queues["y"], tensor=work.results[0])
    return replace(graph, netlist=replace(graph.netlist, queues=queues, graphs={"g": replace(one, ops=ops)}))


# ---- attributes ------------------------------------------------------------------------------------------------------------------------


def _with_attribute(rng: Random, graph: Graph) -> Graph:
    _, work = _last(graph)
    attrs = dict(work.attrs)
    if not attrs:
        return _with_result(rng, graph)
    name = rng.choice(sorted(attrs))
    match rng.randrange(10):
        case 0:
            del attrs[name]
        case 1:
            attrs[rng.choice(("axis", "transpose_a", "activation", "extra", "to", "keepdims"))] = rng.choice(
                (0, True, "tanh", None, (1, 2))
            )
        case 2:
            attrs[name] = rng.choice((None, True, 0, 1.5, "x", (), (0,), (1, -1), ((1,),)))
        case _:
            attrs[name] = _other(rng, attrs[name])
    return _changed(graph, replace(work, attrs=attrs))


def _other(rng: Random, value: Plain) -> Plain:
    """Mostly of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((rng.choice(NUMBERS), value + rng.choice((-1, 1, 2))))
    if isinstance(value, float):
        return rng.choice((0.0, -1.0, 0.5, 2.0, 1e30, 1e300, -1e-40, 7))
    if isinstance(value, str):
        return rng.choice(
            ("", "max", "sum", "relu", "matmul", "transpose", "softmax", "int8", "bool", "float64", "linear", "nearest", "add")
        )
    if isinstance(value, tuple) and value:
        at = rng.randrange(len(value))
        changes = (
            (*value[:at], _other(rng, value[at]), *value[at + 1 :]),
            (*value[:at], _other(rng, value[at]), *value[at + 1 :]),
            value[:-1],
            (*value, value[-1]),
            value[::-1],
        )
        return rng.choice(changes)
    return rng.choice((0, 1, -1, (), (1,), "x"))


# ---- types and operands ----------------------------------------------------------------------------------------------------------------


def _other_shape(rng: Random, shape: _Shape) -> _Shape:
    if not shape or rng.random() < 0.15:
        return rng.choice((shape[1:], (1, *shape), (*shape, 1), (*shape, 3), shape[::-1], ()))
    at = rng.randrange(len(shape))
    size = rng.choice((shape[at] + 1, max(shape[at] - 1, 0), shape[at] * 2, 0, 1, 2, 3, 16, 33, 1 << 20, 1 << 40, -1))
    return (*shape[:at], size, *shape[at + 1 :])


def _other_type(rng: Random, type_: TensorType) -> TensorType:
    if rng.random() < 0.35:
        return replace(type_, format=rng.choice(FORMATS))
    return replace(type_, shape=_other_shape(rng, type_.shape))


def _with_result(rng: Random, graph: Graph) -> Graph:
    _, work = _last(graph)
    (result, *rest) = work.results
    if rng.random() < 0.05:
        rest = [*rest, result]
    return _changed(graph, replace(work, results=(_other_type(rng, result), *rest)))


def _with_operand(rng: Random, graph: Graph) -> Graph:
    """One absent, doubled, taken away, or in the place of another."""
    _, work = _last(graph)
    operands = list(work.operands)
    at = rng.randrange(len(operands)) if operands else 0
    match rng.randrange(5):
        case 0 if operands:
            operands[at] = None
        case 1 if operands:
            operands.append(operands[at])
        case 2 if operands:
            del operands[at]
        case 3:
            operands.append(None)
        case _:
            rng.shuffle(operands)
    return _changed(graph, replace(work, operands=tuple(operands)))


def _with_input(rng: Random, graph: Graph) -> Graph:
    """An operand of another type, through all that leads to it; the region of an op takes the new types too."""
    op, work = _last(graph)
    at = rng.randrange(len(op.inputs))
    type_ = _other_type(rng, op.work.inputs[at])
    if -1 in type_.shape or type_.elements > MAX_ELEMENTS or type_.format == "String":
        return graph
    one, name = graph.netlist.graphs["g"], f"x{op.inputs[at].removeprefix('stored').removeprefix('x')}"
    queues = dict(graph.netlist.queues)
    queues[name] = replace(queues[name], tensor=type_)
    inputs = (*op.work.inputs[:at], type_, *op.work.inputs[at + 1 :])
    if work.body is not None:
        work = replace(work, body=replace(work.body, inputs=tuple(inputs[i] for i in work.operands if i is not None)))
    ops = tuple(
        replace(o, work=replace(o.work, inputs=(type_,), works=(replace(o.work.works[0], results=(type_,)),)))
        if o.name == op.inputs[at]
        else o
        for o in one.ops
    )
    netlist: Netlist = replace(graph.netlist, queues=queues, graphs={"g": replace(one, ops=ops)})
    source = TensorSource.of_array(_values(rng, type_), type_.format)
    tensors, entries = dict(graph.tensors), dict(graph.entries)
    if name in tensors:
        tensors[name] = source
    else:
        entries[name] = source.value()
    changed = replace(graph, netlist=netlist, tensors=tensors, entries=entries)
    return _changed(changed, work, replace(ops[-1].work, inputs=inputs))


def _values(rng: Random, type_: TensorType) -> np.ndarray:
    dtype = format_named(type_.format).compute
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    if dtype.kind == "f":
        return numbers.standard_normal(type_.shape).astype(dtype)
    return numbers.integers(0, 2, type_.shape).astype(dtype)
