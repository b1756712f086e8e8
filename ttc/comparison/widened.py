"""A program with every number of floating point in Float64, on the reference engine: what the program means, almost without rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.netlist.model import Argument
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.manifest import ManifestVariable
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants, TensorSource

WIDE, FORMAT = np.dtype(np.float64), "Float64"
NARROW = frozenset(("float16", "bfloat16", "float32"))
"""The names of the types that become wide."""
TYPED = ("dtype", "source", "to")
"""Attributes that name the type of a result or of an operand."""
BITS = "bitcast"
"""The op whose types say how bits are read: they stay as they are."""


def widened(program: Program) -> Program:
    """Return the program in Float64 on the reference engine; parameters and states keep the values that they have."""
    description = replace(
        program.description,
        parameters=wide(program.description.parameters),
        states=wide(program.description.states),
        derived=wide(program.description.derived),
    )
    netlist, constants = wide(program.netlist), wide_constants(program.constants)
    netlists = Netlists(lambda: netlist, description)
    values = {name: value.astype(_dtype(str(value.dtype))) for name, value in program.parameters.items()}
    return Program(netlists, description, constants, Plans(ReferenceEngine(), netlists, constants), values)


def wide_constants(constants: Constants) -> Constants:
    """Return stored tensors in the wide format."""
    return Constants({key: _source(source) for key, source in constants.sources.items()})


def _source(source: TensorSource) -> TensorSource:
    """Return a stored tensor in the wide format."""
    if not format_named(source.format).is_float:
        return source
    return replace(source, format=FORMAT, load=lambda: source.value().astype(WIDE))


def wide(value: Any) -> Any:
    """Return a record with all that it holds in wide types: a netlist, a graph, or a part of one."""
    rule = _RULES.get(type(value))
    if rule is not None:
        return rule(value)
    if isinstance(value, tuple):
        return tuple(map(wide, value))
    if isinstance(value, dict):
        return {key: wide(item) for key, item in value.items()}
    return _record(value) if is_dataclass(value) and not isinstance(value, type) else value


def _record(value: Any) -> Any:
    """Return a record with wide fields; itself where none changes."""
    given = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
    changed = {name: new for name, item in given.items() if (new := wide(item)) is not item}
    return replace(value, **changed) if changed else value


def _type(type_: TensorType) -> TensorType:
    return replace(type_, format=FORMAT) if format_named(type_.format).is_float else type_


def _work(work: Work) -> Work:
    """Return an op whose results are wide; what its attributes name, too."""
    named = TYPED if work.op.partition(".")[2] != BITS else ()
    attrs = {key: _dtype(item) if key in named and isinstance(item, str) else item for key, item in work.attrs.items()}
    inner = {"body": wide(work.body), "bodies": wide(work.bodies), "results": wide(work.results)}
    return replace(work, attrs=attrs, **inner)


def _variable(value: Any) -> Any:
    return replace(value, dtype=_dtype(value.dtype))


def _dtype(name: str) -> str:
    """Return the wide type for one of floating point; other names as they are."""
    return str(WIDE) if name in NARROW else name


_RULES: dict[type, Callable[[Any], Any]] = {TensorType: _type, Work: _work, Argument: _variable, ManifestVariable: _variable}
