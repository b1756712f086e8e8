"""Modules and functions whose forward and backward passes are replayed graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.graphs.graph import Graph, apart, graph

Run = Callable[..., Any]
_TENSOR = object()
"""Stands for a tensor among arguments."""


@apart
def make_graphed_callables(
    callables: Any,
    sample_args: Sequence[Any],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: object = None,
    **option_fields: Any,
) -> Any:
    """Return callables that replay graphs of their forward and backward passes; like `torch.cuda.make_graphed_callables`.

    A module is changed: its `forward` replays while the module is in the mode (training or evaluation) that it is in now.  Buffers and
    random numbers are afterwards as if nothing had run.

    Args:   callables: a module or function of tensors, or a tuple of several.
            sample_args: arguments for it, or a tuple of those for each: tensors, or mappings and sequences of tensors.
            num_warmup_iters: passes before the capture.
            allow_unused_input: whether results may not depend on some inputs or parameters.
            pool: as in torch.cuda, without meaning here.
            option_fields: see `Graph`.
    Raises: E0814 for what cannot be captured; E02xx for ops that are not supported.
    """
    del pool
    if isinstance(callables, tuple):
        if len(sample_args) != len(callables):
            raise Error("E0101", f"there are {len(callables)} callables, and sample_args for {len(sample_args)}")
        return tuple(
            make_graphed_callables(one, args, num_warmup_iters, allow_unused_input, **option_fields)
            for one, args in zip(callables, sample_args, strict=True)
        )
    if isinstance(callables, torch.nn.Module):
        return _graphed_module(callables, tuple(sample_args), num_warmup_iters, allow_unused_input, option_fields)
    return Graphed(callables, tuple(sample_args), {}, (), num_warmup_iters, allow_unused_input, option_fields)


def _graphed_module(module: Any, args: tuple[Any, ...], warm_up: int, allow_unused: bool, options: dict[str, Any]) -> Any:
    plain, training = module.forward, module.training
    parameters = tuple(p for p in module.parameters() if p.requires_grad)
    with unchanged(module):
        graphed = Graphed(plain, args, {}, parameters, warm_up, allow_unused, options)

    def forward(*args: Any, **kwargs: Any) -> Any:
        return graphed(*args, **kwargs) if module.training == training else plain(*args, **kwargs)

    module.forward = forward
    return module


@contextmanager
def unchanged(module: torch.nn.Module) -> Iterator[None]:
    """Restore, after the block, buffers and PyTorch's random numbers as they were before."""
    kept = {name: buffer.detach().clone() for name, buffer in module.named_buffers()}
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        _restore(module, kept)


@torch.no_grad()
def _restore(module: torch.nn.Module, kept: dict[str, torch.Tensor]) -> None:
    for name, buffer in module.named_buffers():
        if name in kept:
            buffer.copy_(kept[name])


class Graphed:
    """A function whose passes were captured for arguments of some shapes.

    Args:
        function: of tensors in pytrees, to tensors in pytrees.
        args, kwargs: to capture it with.
        parameters: that get gradients beside the inputs.
        releases: whether memory of results is given back after each pass, which then has no gradients.
    """

    def __init__(
        self,
        function: Run,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parameters: tuple[torch.Tensor, ...],
        warm_up: int,
        allow_unused: bool,
        options: dict[str, Any],
        *,
        releases: bool = False,
    ) -> None:
        self._releases = releases
        flat, self._spec = pytree.tree_flatten((args, kwargs))
        self._plain = [_TENSOR if isinstance(x, torch.Tensor) else x for x in flat]
        self._inputs = [x.detach().clone().requires_grad_(x.requires_grad) for x in flat if isinstance(x, torch.Tensor)]
        self._parameters = parameters
        self._calls = 0
        wanted = [x for x in (*self._inputs, *parameters) if x.requires_grad]
        own_args, own_kwargs = self._nested(self._inputs)
        for _ in range(warm_up):
            self._gradients(function(*own_args, **own_kwargs), wanted, None, allow_unused)
        self._forward, self._backward = Graph(**options), None
        with graph(self._forward):
            results = function(*own_args, **own_kwargs)
        leaves, self._results_spec = pytree.tree_flatten(results)
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                raise Error("E0814", f"a graphed function gives a {type(leaf).__name__}, no tensor")
        self._results = [leaf.detach() for leaf in leaves]
        self._with_gradient = [leaf.requires_grad for leaf in leaves]
        self._given = [torch.empty_like(leaf) for leaf in leaves if leaf.requires_grad]
        self._found: list[torch.Tensor | None] = [None] * len(wanted)
        if self._given and torch.is_grad_enabled():
            self._backward = Graph(**options)
            with graph(self._backward):
                self._found = list(self._gradients(results, wanted, self._given, allow_unused))

    @apart
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay the forward pass; gradients of its results replay the other one.  Raises E0801 for other arguments, E0814."""
        flat, spec = pytree.tree_flatten((args, kwargs))
        tensors = [x for x in flat if isinstance(x, torch.Tensor)]
        plain = [_TENSOR if isinstance(x, torch.Tensor) else x for x in flat]
        if spec != self._spec or plain != self._plain or any(_form(x) != _form(y) for x, y in zip(tensors, self._inputs, strict=True)):
            shapes = ", ".join(str(list(x.shape)) for x in self._inputs)
            raise Error("E0801", f"the graph was captured for other arguments: tensors of {shapes}", hint="ttc.graphs.cache keeps several")
        leaves = _Replayed.apply(self, *tensors, *self._parameters)
        return pytree.tree_unflatten(list(leaves), self._results_spec)

    def forward_pass(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Replay the forward pass, and return its results."""
        with torch.no_grad():
            for own, given in zip(self._inputs, inputs, strict=True):
                own.copy_(given)
        self._calls += 1
        self._forward.replay()
        found = tuple(result.clone() for result in self._results)
        if self._releases:
            self._forward.release_outputs()
        return found

    def backward_pass(self, call: int, gradients: Sequence[torch.Tensor | None]) -> tuple[torch.Tensor | None, ...]:
        """Replay the backward pass; returns a gradient for each input and parameter.  Raises E0814 after a later call."""
        if self._backward is None:
            raise Error("E0814", "the graph was captured without gradients")
        if call != self._calls:
            raise Error(
                "E0814", "gradients are asked for after another call of the graphed function", hint="call backward() before the next call"
            )
        given = [gradient for gradient, wanted in zip(gradients, self._with_gradient, strict=True) if wanted]
        with torch.no_grad():
            for own, gradient in zip(self._given, given, strict=True):
                own.zero_() if gradient is None else own.copy_(gradient)
        self._backward.replay()
        found = iter(self._found)
        every = (next(found) if x.requires_grad else None for x in (*self._inputs, *self._parameters))
        return tuple(None if gradient is None else gradient.clone() for gradient in every)

    @property
    def calls(self) -> int:
        """How often the function was called."""
        return self._calls

    def _nested(self, tensors: Sequence[torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = iter(tensors)
        return pytree.tree_unflatten([next(given) if x is _TENSOR else x for x in self._plain], self._spec)

    @staticmethod
    def _gradients(
        results: Any, wanted: Sequence[torch.Tensor], given: Sequence[torch.Tensor] | None, allow_unused: bool
    ) -> Sequence[torch.Tensor | None]:
        leaves = [x for x in pytree.tree_leaves(results) if isinstance(x, torch.Tensor) and x.requires_grad]
        if not leaves or not wanted or not torch.is_grad_enabled():
            return [None] * len(wanted)
        return torch.autograd.grad(leaves, wanted, given or [torch.ones_like(x) for x in leaves], allow_unused=allow_unused)


class _Replayed(torch.autograd.Function):
    """One call of a graphed function, for autograd."""

    @staticmethod
    def forward(ctx: Any, graphed: Graphed, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.graphed = graphed
        found = graphed.forward_pass(tensors[: len(graphed._inputs)])
        ctx.call = graphed.calls
        ctx.mark_non_differentiable(*(x for x, wanted in zip(found, graphed._with_gradient, strict=True) if not wanted))
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        return (None, *ctx.graphed.backward_pass(ctx.call, gradients))


def _form(tensor: torch.Tensor) -> tuple[object, ...]:
    """Return what a tensor of a call has in common with the one that was captured."""
    return tuple(tensor.shape), tensor.dtype, tensor.requires_grad
