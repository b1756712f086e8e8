"""Models that keep graphs for the signatures that they are called with."""

from __future__ import annotations

from collections import Counter
from threading import RLock
from typing import Any, Literal, TypeAlias

import torch
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error, nearest, warn
from ttc.graphs.callables import Graphed, unchanged
from ttc.graphs.graph import apart, is_captured
from ttc.runtime.metrics import counter, ticks

Policy: TypeAlias = Literal["lru", "lfu", "first"]
POLICIES = ("lru", "lfu", "first")
"""Which graph is dropped when there is no room: that used longest ago, that used least often, or none: later signatures then run eagerly.
"""
_MISSES, _EVICTIONS = counter("graph_cache_misses"), counter("graph_evictions")
_hit = ticks("graph_cache_hits").tick


def cache(model: torch.nn.Module, max_graphs: int | None = 10, policy: Policy = "lru", **option_fields: Any) -> torch.nn.Module:
    """Have a model replay graphs, one for each signature that it is called with; returns the model, whose `forward` is replaced.

    A signature is shapes, dtypes and `requires_grad` of tensors, values of all other arguments, whether the model trains, and whether
    gradients are enabled.

    Args:   max_graphs: that are kept; None: any number.
            policy: one of POLICIES.
            option_fields: see `Graph`.
    Raises: E0101 for an unknown policy, a number below 1, or options; calls raise as `Graph` does.
    """
    if policy not in POLICIES:
        raise Error("E0101", f"there is no policy '{policy}'", hint=nearest(policy, POLICIES))
    if max_graphs is not None and max_graphs < 1:
        raise Error("E0101", f"a cache of {max_graphs} graphs keeps none", hint="at least 1, or None for any number")
    model.forward = GraphCache(model, max_graphs, policy, option_fields)
    return model


def wrap(model: torch.nn.Module, max_graphs: int | None = None, *, release_outputs: bool = False, **option_fields: Any) -> torch.nn.Module:
    """Have a model replay graphs in evaluation alone: it is called without gradients, whatever the caller has enabled.

    Args:   release_outputs: whether graphs give the memory of their results back after each call, which the caller has a copy of.
            others: as in `cache`.
    Raises: as `cache` does.
    """
    model.eval()
    cached = cache(model, max_graphs, **option_fields)
    plain = cached.forward
    if isinstance(plain, GraphCache):
        plain.releases = release_outputs

    def forward(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return plain(*args, **kwargs)

    cached.forward = forward
    return cached


class GraphCache:
    """The graphs of a model by signature; thread-safe."""

    def __init__(self, model: torch.nn.Module, max_graphs: int | None, policy: Policy, options: dict[str, Any]) -> None:
        self._model, self._plain = model, model.forward
        self._most, self._policy, self._options = max_graphs, policy, options
        self._graphs: dict[object, Graphed] = {}
        self._uses: Counter[object] = Counter()
        self._told = self._captures = False
        self._lock = RLock()
        self.releases = False
        """Whether graphs without gradients give the memory of results back after each call."""

    @apart
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay the graph for these arguments, captured first where there is none."""
        with self._lock:
            inside = self._captures or is_captured()  # a model that calls itself, or is part of what another graph holds
            found = None if inside else self._graph(args, kwargs)
            if found is not None:
                return found(*args, **kwargs)
        return self._plain(*args, **kwargs)

    def _graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Graphed | None:
        """Return the graph for these arguments, behind all others as the one used last; None where it has no room."""
        key = self._signature(args, kwargs)
        found = self._graphs.pop(key, None)
        if found is not None:
            _hit()
        elif self._has_room():
            _MISSES.add()
            found = self._captured(args, kwargs)
        else:
            return None
        self._graphs[key] = found
        self._uses[key] += 1
        return found

    def _signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        values = tuple((tuple(x.shape), x.dtype, x.requires_grad) if isinstance(x, torch.Tensor) else (type(x), x) for x in leaves)
        key = spec, values, self._model.training, torch.is_grad_enabled()
        try:
            hash(key)
        except TypeError:
            kinds = ", ".join(sorted({type(x).__name__ for x in leaves if type(x).__hash__ is None}))
            raise Error("E0814", f"an argument tells no signature: {kinds}", hint="pass tensors, and values that do not change") from None
        return key

    def _has_room(self) -> bool:
        """Return whether a graph can be kept; one goes where the policy says so."""
        if self._most is None or len(self._graphs) < self._most:
            return True
        if self._policy == "first":
            if not self._told:
                self._told = True
                warn(f"more than {self._most} signatures: later ones run in PyTorch")
            return False
        oldest = next(iter(self._graphs))
        gone = oldest if self._policy == "lru" else min(self._graphs, key=lambda key: self._uses[key])
        del self._graphs[gone], self._uses[gone]
        _EVICTIONS.add()
        return True

    def _captured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Graphed:
        parameters = tuple(p for p in self._model.parameters() if p.requires_grad) if torch.is_grad_enabled() else ()
        self._captures = True
        try:
            with unchanged(self._model):
                return Graphed(self._plain, args, kwargs, parameters, 1, True, self._options, releases=self.releases)
        finally:
            self._captures = False
