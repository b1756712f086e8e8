"""Passes through a stage as graphs of aten ops, traced without running or changing anything of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
from torch import fx, nn
from torch._functorch import config
from torch._functorch.aot_autograd import aot_function
from torch.func import functional_call
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dist.signatures import Leaf, Signature
from ttc.dist.stages import Crossing
from ttc.dynamo.aot import changed_by, graph_decompositions
from ttc.importers.torch.tracing import tracing

_PREFIX = "part."


@record(eq=False)
class CapturedPass:
    """A pass through a stage.

    Args:
        forward: takes parameters, buffers, leaves of inputs, and inputs by name; gives leaves of outputs, buffers, and what is kept.
        backward: takes what is kept and gradients of outputs that have them; gives gradients of all that `forward` takes.
    """

    forward: fx.GraphModule
    backward: fx.GraphModule | None


def tensors_of(part: nn.Module) -> tuple[dict[str, nn.Parameter], dict[str, torch.Tensor]]:
    """Return the parameters and buffers of a stage, by the first name of each."""
    return dict(part.named_parameters()), dict(part.named_buffers())


def capture(crossing: Crossing, inputs: Signature, named: Mapping[str, Leaf], *, training: bool) -> CapturedPass:
    """Trace a stage for such inputs, in the modes that its modules are in.

    Args:   training: whether gradients are asked for.
    Raises: E0202 for what PyTorch cannot trace.
    """
    parameters, buffers = tensors_of(crossing.part)
    places = _places(crossing.part)
    found: dict[str, fx.GraphModule] = {}

    def compiler(kind: str) -> Callable[..., Any]:
        def keep(graph: fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
            del examples
            found[kind] = graph
            return make_boxed_func(graph.forward)

        return keep

    def run(*values: torch.Tensor) -> list[torch.Tensor]:
        given = iter(values)
        # what is written in place is a copy of the pass's own, whose last value is an output
        held = {id(tensor): next(given) for tensor in parameters.values()}
        held |= {id(tensor): next(given).clone() for tensor in buffers.values()}
        tensors = {f"{_PREFIX}{name}": held[id(tensor)] for name, tensor in places.items()}
        leaves = [next(given).clone() for _ in inputs.leaves]
        others = {name: next(given).clone() for name in named}
        outputs = functional_call(_Value(crossing), tensors, tuple(leaves), others, tie_weights=False)
        # copies: autograd would follow what shows an input outside of the graph
        return [leaf.clone(memory_format=torch.contiguous_format) for leaf in pytree.tree_leaves(outputs)] + [
            tensors[f"{_PREFIX}{name}"] for name in buffers
        ]

    traced = aot_function(
        run,
        compiler("forward"),
        compiler("backward"),
        partition_fn=min_cut_rematerialization_partition,
        decompositions=graph_decompositions(),
        inference_compiler=compiler("inference"),
    )
    given = [*parameters.values(), *buffers.values(), *inputs.zeros(), *[leaf.zeros() for leaf in named.values()]]
    where = f"PyTorch cannot trace {type(crossing.part).__name__}"
    with tracing("E0202", where), config.patch(donated_buffer=False), torch.random.fork_rng(devices=[]), torch.set_grad_enabled(training):
        outputs = [output for output in traced(*given) if output.requires_grad]
        wanted = [value for value in given if value.requires_grad]
        if outputs and wanted:
            torch.autograd.grad(outputs, wanted, [torch.zeros_like(output) for output in outputs], allow_unused=True)
    forward = found.get("forward") or found["inference"]
    if changed_by(forward):
        raise Error("E0202", f"{type(crossing.part).__name__} writes to a parameter in its forward pass, which no archive of stages does")
    return CapturedPass(forward, found.get("backward"))


def _places(part: nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters and buffers by their places in modules, each place once: PyTorch leaves what it has put into one twice."""
    return {
        f"{path}.{name}" if path else name: tensor
        for path, module in part.named_modules()
        for name, tensor in (*module._parameters.items(), *module._buffers.items())
        if tensor is not None
    }


class _Value(nn.Module):
    """A crossing whose call gives what its part gives, nested as that is."""

    def __init__(self, crossing: Crossing) -> None:
        super().__init__()
        self.part = crossing.part
        self._value = (crossing.value,)

    def forward(self, *leaves: torch.Tensor, **named: torch.Tensor) -> Any:
        """Call the part."""
        return self._value[0](self.part, *leaves, **named)
