"""From a module written by hand to dialect nn: its `forward` is run once, with stand-ins for its inputs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, make_function
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.ir.values import ModuleOp, SSAValue
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.base import NO_SHAPES
from ttc.importers.common.builder import Builder
from ttc.importers.common.module import finished
from ttc.ops.arrays import array_of
from ttc.ops.tracing import CURRENT, Tensor, Trace, made


def import_object(
    model: Any, example_inputs: Any, *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None
) -> tuple[ModuleOp, WeightStore]:
    """Trace a module written by hand.

    Args:
        example_inputs: a tuple of arrays, a mapping of them by the names of `forward`'s arguments, or one; they give shapes and dtypes.
        shapes: of inputs by name, which go before those of the examples.
        batch: the size of the first dimension of every input.
    Raises: E0101 without examples, E0206 for inputs that `forward` does not take, E0207 for what cannot be traced, E04xx at the op.
    """
    specs = _specs(model, example_inputs, shapes, batch)
    function = make_function("forward", [(Port(name), tensor_type(spec)) for name, spec in specs.items()])
    named = {id(parameter): name for name, parameter in reversed(list(model.named_parameters()))}
    builder = Builder(frozenset(named.values()))
    trace = Trace(builder, named)
    given = {name: Tensor(trace, value) for name, value in zip(specs, function.body.block.args, strict=True)}
    token = CURRENT.set(trace)
    paths = list(model.named_modules())
    try:
        for path, inner in paths:
            inner.__dict__["_path"] = path
        args, kwargs = _call(model, given)
        with np.errstate(all="ignore"):
            results = _results(trace, model(*args, **kwargs))
    finally:
        CURRENT.reset(token)
        for _, inner in paths:
            inner.__dict__.pop("_path", None)
    return finished(model.name, function, builder, [*results, *builder.moved()])


def _specs(model: Any, example_inputs: Any, shapes: Mapping[str, tuple[int, ...]], batch: int | None) -> dict[str, Spec]:
    """Return inputs of `forward` in its order."""
    if example_inputs is None:
        hint = "ttc.compile(module, (x,))"
        raise Error("E0101", f"{model.name} needs example inputs: they give shapes and types", hint=hint)
    examples = example_inputs if isinstance(example_inputs, tuple | list | Mapping) else (example_inputs,)
    signature = inspect.signature(model.forward)
    try:
        bound = signature.bind(**examples) if isinstance(examples, Mapping) else signature.bind(*examples)
    except TypeError as error:
        raise Error("E0206", f"{model.name}.forward does not take these inputs: {error}") from None
    found: dict[str, Spec] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            rows = {f"{name}_{number}": item for number, item in enumerate(value)}
        else:
            rows = value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
        found.update({key: _spec(item) for key, item in rows.items()})
    for name, shape in shapes.items():
        if name not in found:
            raise Error("E0206", f"{model.name} has no input '{name}'", hint=f"there are {', '.join(found)}")
        found[name] = Spec(tuple(shape), found[name].dtype)
    return {n: Spec((batch, *s.shape[1:]), s.dtype) if batch is not None and s.shape and n not in shapes else s for n, s in found.items()}


def _spec(value: Any) -> Spec:
    array = array_of(value)
    return Spec(array.shape, array.dtype)


def _call(model: Any, given: Mapping[str, Tensor]) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Positional and keyword arguments of a call."""
    known = inspect.signature(model.forward).parameters
    keywords = {p for p, item in known.items() if item.kind is inspect.Parameter.KEYWORD_ONLY}
    spread = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in known.values())
    several = any(item.kind is inspect.Parameter.VAR_POSITIONAL for item in known.values())
    named = {n: x for n, x in given.items() if n in keywords or (n not in known and spread and not several)}
    return [x for n, x in given.items() if n not in named], named


def _results(trace: Trace, found: Any) -> list[tuple[Port, SSAValue]]:
    """Return results with names: keys of a mapping, `output` for one, else `output_0` and so on.  Raises E0207."""
    if isinstance(found, Mapping):
        named = {str(key): value for key, value in found.items()}
    elif isinstance(found, tuple | list) and len(found) != 1:
        named = {f"output_{number}": value for number, value in enumerate(found)}
    else:
        named = {"output": found[0] if isinstance(found, tuple | list) else found}
    if not named or any(value is None for value in named.values()):
        raise Error("E0207", "forward returns nothing", hint="return a tensor, or a tuple or mapping of tensors")
    # a parameter or an array that is returned as it is becomes an op of the trace
    values = {name: x if isinstance(x, Tensor) else made("output", None, [x], _same) for name, x in named.items()}
    return [(Port(name), value.value_in(trace)) for name, value in values.items()]


def _same(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("identity", x)
