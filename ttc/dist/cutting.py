"""Cutting a chain of layers into stages of about the same cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from ttc.dialects.core.errors import Error, nearest
from ttc.dist.parts import Layer, Part, layers_of, linearize, parameters_of

WAYS = ("uniform", "params", "cost")
"""What stages can be alike in: numbers of layers, of parameters, of operations."""


def partition(
    model: nn.Module, stages: int, by: str | Callable[[Layer], float] = "uniform", examples: Sequence[torch.Tensor] = ()
) -> tuple[Part, ...]:
    """Cut a model into stages of consecutive layers, the same in every process.

    Args:
        model: a Sequential, or what `linearize` gives.
        stages: how many, each of at least one layer.
        by: what they are alike in: `uniform`: layers; `params`: elements of parameters; `cost`: floating point operations for the
            examples; or a function of a layer.  The largest stage is as small as it can be.
        examples: inputs of the model, for `cost`; their values are not read.
    Raises: E0101 for another way, a cost without examples, and fewer layers than stages.
    """
    layers = layers_of(linearize(model))
    if type(stages) is not int or not 1 <= stages <= len(layers):
        raise Error("E0101", f"{len(layers)} layers cannot be {stages!r} stages", hint=f"1 to {len(layers)} stages")
    costs = _costs(layers, by, examples)
    bounds = [0, *_bounds(costs, stages), len(layers)]
    return tuple(Part(layers[first:last]) for first, last in zip(bounds, bounds[1:], strict=False))


def _costs(layers: Sequence[Layer], by: str | Callable[[Layer], float], examples: Sequence[torch.Tensor]) -> list[float]:
    if callable(by):
        return [float(by(layer)) for layer in layers]
    if by not in WAYS:
        raise Error("E0101", f"stages cannot be alike in '{str(by)[:40]}'", hint=nearest(str(by), WAYS))
    if by == "uniform":
        return [1.0] * len(layers)
    if by == "params":
        return [float(parameters_of(layer.call)) for layer in layers]
    if not examples:
        raise Error("E0101", "the cost of layers depends on the shapes of inputs", hint="give examples=(x,)")
    return _operations(layers, examples)


def _operations(layers: Sequence[Layer], examples: Sequence[torch.Tensor]) -> list[float]:
    """Floating point operations of each layer, with an operation for each element that it gives."""
    found: list[float] = []
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        value: Any = tuple(mode.from_tensor(example) for example in examples)
        for layer in layers:
            with FlopCounterMode(display=False) as counter:
                value = layer.call(*value) if isinstance(value, tuple) else layer.call(value)
            given = value if isinstance(value, tuple) else (value,)
            found.append(float(counter.get_total_flops() + sum(x.numel() for x in given if isinstance(x, torch.Tensor))))
    return found


def _bounds(costs: Sequence[float], stages: int) -> list[int]:
    """Return where stages but the first begin, so that the costliest costs least; of those the ones whose squares add up to least."""
    total = [0.0, *accumulate(costs)]
    count = len(costs)
    best: list[dict[int, tuple[float, float, list[int]]]] = [{0: (0.0, 0.0, [])}]
    for stage in range(1, stages + 1):
        row: dict[int, tuple[float, float, list[int]]] = {}
        for end in range(stage, count - (stages - stage) + 1):
            options = []
            for begin, (most, squares, cuts) in best[-1].items():
                if begin < end:
                    cost = total[end] - total[begin]
                    options.append((max(most, cost), squares + cost * cost, [*cuts, begin] if begin else cuts))
            row[end] = min(options)
        best.append(row)
    return best[-1][count][2]
