"""From a compiled module to what an archive holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.entries import derived_functions, module_attr
from ttc.dialects.core.ir.to_plain import plain_attr, plain_block
from ttc.dialects.core.records import record
from ttc.dialects.netlist.checks import require_valid
from ttc.dialects.netlist.codec import decode
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.to_model import to_model
from ttc.dialects.nn.training.description import Training
from ttc.passes.base import Unit
from ttc.passes.recorded_inputs import absent_inputs, fixed_inputs
from ttc.runtime.generation_notes import Generation
from ttc.runtime.manifest import Derived, Description, ManifestVariable
from ttc.runtime.tensors import TensorSource

GROUP = ("optimizer", "parameters", "values", "inputs")
"""The names of what a row of `ttc.training`'s groups holds, in order."""


@record
class Package:
    """What an archive is written from: see `runtime.archive.write_archive`.  texts: by file name; nothing that runs reads them."""

    netlist: Netlist
    tensors: dict[str, TensorSource]
    description: Description
    texts: Mapping[str, str] = field(default_factory=dict)


def emit(unit: Unit, version: str, texts: Mapping[str, str] | None = None) -> Package:
    """Return the archive of a module at the end of stage netlist, with texts by file name.

    The IR itself was verified at the end of the stage, or when its text was read.
    Raises E06xx if the netlist breaks a rule, E0304 for a weight without a value.
    """
    netlist = to_model(unit.module)
    require_valid(netlist)
    return replace(package_of(unit, netlist, version), texts=texts or {})


def package_of(unit: Unit, netlist: Netlist, version: str) -> Package:
    """Return a netlist with the tensors that it and the module name, and what the module says of itself.  Raises E0304."""
    held = {q.key: q.tensor.format for q in netlist.queues.values() if q.key is not None}
    description = Description(
        model=str(module_attr(unit.module, "model") or "model"),
        version=version,
        options={name: plain_attr(value) for name, value in (module_attr(unit.module, "options") or {}).items()},
        parameters=_variables(unit.module, "parameters"),
        states=_variables(unit.module, "states"),
        derived=tuple(Derived(key, plain_block(function.body.block)) for key, function in derived_functions(unit.module).items()),
        fixed_inputs=fixed_inputs(module_attr(unit.module, "fixed_inputs")),
        absent_inputs=absent_inputs(module_attr(unit.module, "absent_inputs")),
        independent_batches=_batches(unit.module),
        batch_axes=_batch_axes(unit.module),
        training=training_of(unit.module),
        generation=generation_of(unit.module),
    )
    sources = {key: format_of(np.dtype(dtype)).name for key, _, dtype in module_attr(unit.module, "sources") or ()}
    tensors = {key: TensorSource.of_weight(unit.weights[key], format_) for key, format_ in (sources | held).items()}
    return Package(netlist, tensors, description)


def _batches(module: ModuleOp) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the module's `ttc.independent_batches`: rows of a program and its inputs.  Raises E0302."""
    rows = module_attr(module, "independent_batches") or ()
    if not isinstance(rows, tuple) or any(tuple(map(type, row)) != (str, tuple) for row in rows):
        raise Error("E0302", "ttc.independent_batches does not hold rows of a program's name and names of inputs")
    return tuple((name, tuple(map(str, inputs))) for name, inputs in rows)


def _batch_axes(module: ModuleOp) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """Return the module's `ttc.batch_axes`: rows of a program and its inputs and results, each with a dimension.  Raises E0302."""
    rows = module_attr(module, "batch_axes") or ()
    try:
        return tuple((str(name), tuple((str(port), int(axis)) for port, axis in axes)) for name, axes in rows)
    except (TypeError, ValueError):
        raise Error("E0302", "ttc.batch_axes does not hold rows of a program's name and dimensions of inputs and results") from None


def training_of(module: ModuleOp) -> Training | None:
    """Return what the module's `ttc.training` says.  Raises E0302 if it is not as passes leave it."""
    noted = module_attr(module, "training")
    if noted is None:
        return None
    try:
        rows = [(str(text), tuple(names), dict(values), dict(inputs)) for text, names, values, inputs in noted.get("groups", ())]
        known = {**noted, "groups": [dict(zip(GROUP, row, strict=True)) for row in rows], "hyper": dict(noted.get("hyper", ()))}
        return decode(Training, known, "ttc.training")
    except (TypeError, ValueError, AttributeError) as error:
        raise Error("E0302", f"ttc.training is not what passes leave: {str(error)[:200]}") from None
    except Error as error:
        raise Error("E0302", error.message, error.where, error.hint) from None


def generation_of(module: ModuleOp) -> Generation | None:
    """Return what the module's `ttc.generation` says.  Raises E0302 if it is not as `ttc.generator` leaves it."""
    noted = module_attr(module, "generation")
    if noted is None:
        return None
    try:
        return decode(Generation, {**noted, "programs": dict(noted["programs"])}, "ttc.generation")
    except (TypeError, ValueError, KeyError) as error:
        raise Error("E0302", f"ttc.generation is not what ttc.generator leaves: {str(error)[:200]}") from None
    except Error as error:
        raise Error("E0302", error.message, error.where, error.hint) from None


def _variables(module: ModuleOp, kind: str) -> dict[str, ManifestVariable]:
    """Return the module's `ttc.parameters` or `ttc.states`: rows of (name, key, shape, dtype)."""
    rows = module_attr(module, kind) or ()
    return {name: ManifestVariable(key, tuple(shape), str(dtype)) for name, key, shape, dtype in rows}
