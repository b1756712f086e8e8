"""A stage of a model as a module of PyTorch of its own, which shares the model's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx


class StagePart(torch.nn.Module):
    """The ops of one stage.  Parameters and buffers are the model's own, under the names that they have there.

    Args:
        number: of the stage, counted from 0.
        training: the ops as they are in training.
        evaluation: likewise in evaluation.
        tensors: parameters and buffers that the ops read, by name.
        structured: makes the model's output of the tensors that the last stage gives; None: another stage follows, which takes them all.
    """

    def __init__(
        self,
        number: int,
        training: fx.Graph,
        evaluation: fx.Graph,
        tensors: Mapping[str, torch.Tensor],
        structured: Callable[[tuple[torch.Tensor, ...]], Any] | None,
    ) -> None:
        super().__init__()
        self.number = number
        for name, tensor in tensors.items():
            _put(self, name, tensor)
        # in a tuple: they are no modules of this one, whose parameters have their own names
        self._ways = tuple(fx.GraphModule(self, graph, f"Stage{number}") for graph in (evaluation, training))
        self._structured = structured

    @property
    def graph(self) -> fx.Graph:
        """The ops as they are computed in the mode that the module is in."""
        return self._ways[self.training].graph

    def forward(self, *values: torch.Tensor) -> Any:
        """Compute what the next stage takes, as a tuple; the last stage gives what the model gives."""
        way = self._ways[self.training]
        # node by node, and with the parameters of this module, they keep where they come from
        found = fx.Interpreter(self, graph=way.graph).run(*values) if torch.compiler.is_exporting() else way(*values)
        return found if self._structured is None else self._structured(found)


def _put(root: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
    """Make a tensor a parameter or buffer of a module under a dotted name."""
    *outer, last = name.split(".")
    for member in outer:
        if member not in root._modules:
            root.add_module(member, torch.nn.Module())
        root = root.get_submodule(member)
    if isinstance(tensor, torch.nn.Parameter):
        root.register_parameter(last, tensor)
    else:
        root.register_buffer(last, tensor)
