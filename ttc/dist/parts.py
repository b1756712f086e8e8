"""Models as chains of layers, and consecutive layers of one as a module that keeps the names of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

Call: TypeAlias = "Callable[..., Any]"


@record(eq=False)
class Layer:
    """A link of a chain.

    Args:
        name: dotted path in the model; empty for a function, which has no parameters.
        call: the module, or the function.
    """

    name: str
    call: Call


class Part(nn.Module):
    """Layers that are called one after another; `state_dict` has the names that the model had.

    Args:   layers: each takes what the one before it gives; several outputs, as a tuple, are several arguments.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__()
        self._ttc_layers = tuple(layers)  # a name that no model has: members are attributes, too
        for layer in self._ttc_layers:
            if isinstance(layer.call, nn.Module):
                _put(self, layer.name, layer.call)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Run the layers; arguments by name go to the first layer."""
        first, *others = self._ttc_layers or (None,)
        if first is None:
            return inputs[0] if len(inputs) == 1 else inputs
        value = first.call(*inputs, **named)
        for layer in others:
            value = layer.call(*value) if isinstance(value, tuple) else layer.call(value)
        return value


def layers_of(part: Part) -> tuple[Layer, ...]:
    """Return the layers of a part, in order."""
    return part._ttc_layers


def linearize(model: nn.Module, order: Sequence[str | nn.Module | Call] | None = None) -> Part:
    """Return a model as a chain of layers, which shares its modules and keeps the names in its `state_dict`.

    Args:
        model: any module.
        order: of its layers: dotted names (`layer1.0`), slices of containers (`layers.0:4`), modules of it, and functions of the value.
            Containers stand for their members.  None: the members of a Sequential.
    Raises: E0101 for what the model does not have, and where there is no order to be found.
    """
    if order is None:
        if isinstance(model, Part):
            return model
        if _is_chain(model) and _has_hooks(model):
            raise Error("E0101", f"the {type(model).__name__} has hooks, which a chain of its members does not call", hint="remove them")
        if not _is_chain(model):
            hint = 'give the order of its layers: linearize(model, ["embed", "layers.0:4", "head"])'
            raise Error("E0101", f"a {type(model).__name__} has no known order of layers", hint=hint)
        return Part(list(_spliced("", model)))
    names = {id(module): name for name, module in model.named_modules()}
    return Part([layer for item in order for layer in _layers(model, names, item)])


def _layers(model: nn.Module, names: dict[int, str], item: Any) -> Iterator[Layer]:
    if isinstance(item, str):
        yield from _named(model, item)
    elif isinstance(item, nn.Module) and id(item) in names:
        yield from _spliced(names[id(item)], item)
    elif callable(item) and not isinstance(item, nn.Module):
        yield Layer("", item)
    else:
        raise Error("E0101", f"a {type(item).__name__} is no layer of the model", hint="names, modules of the model, and functions are")


def _named(model: nn.Module, name: str) -> Iterator[Layer]:
    """Yield the layers of a dotted name, whose last piece may be a slice."""
    head, _, last = name.rpartition(".")
    if ":" not in last:
        yield from _spliced(name, _module(model, name))
        return
    container = _module(model, head)
    bounds = last.split(":")
    if len(bounds) != 2 or not all(bound == "" or bound.lstrip("-").isdecimal() for bound in bounds):
        raise Error("E0101", f"'{name[:80]}' is no slice of layers", hint='write "layers.0:4"')
    chosen = slice(*(int(bound) if bound else None for bound in bounds))
    for member, module in list(container.named_children())[chosen]:
        yield from _spliced(f"{head}.{member}" if head else member, module)


def _module(model: nn.Module, name: str) -> nn.Module:
    try:
        return model.get_submodule(name)
    except AttributeError:
        known = ", ".join(list(dict(model.named_children()))[:8])
        raise Error("E0101", f"the model has no layer '{name[:80]}'", hint=f"it has {known}") from None


def _spliced(name: str, module: nn.Module) -> Iterator[Layer]:
    """Yield the layers of a module: members, where all that it does is hold them; one with hooks stays whole, so that they are called."""
    if isinstance(module, Part):
        yield from layers_of(module)
    elif type(module) is nn.ModuleList or (_is_chain(module) and not _has_hooks(module)):
        for member, inner in module.named_children():
            yield from _spliced(f"{name}.{member}" if name else member, inner)
    else:
        yield Layer(name, module)


def _is_chain(module: nn.Module) -> bool:
    """Return whether a module calls its members one after another: a Sequential, or a class of one that does nothing else."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


def _has_hooks(module: nn.Module) -> bool:
    """Return whether something is called before or after the module."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return any(getattr(module, kind) for kind in kinds)


def _put(root: nn.Module, name: str, module: nn.Module) -> None:
    """Make a module a descendant of another one under a dotted name."""
    outer, _, last = name.rpartition(".")
    (put_module(root, outer) if outer else root).add_module(last, module)


def put_module(root: nn.Module, path: str) -> nn.Module:
    """Return a module's descendant of a dotted name; those on the way that are not there are made, and hold nothing."""
    for member in path.split("."):
        if member not in root._modules:
            root.add_module(member, nn.Module())
        root = root.get_submodule(member)
    return root


def parameters_of(call: Call) -> int:
    """Count the elements of the parameters of a layer."""
    return sum(p.numel() for p in call.parameters()) if isinstance(call, torch.nn.Module) else 0
