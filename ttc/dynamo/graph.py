"""A graph of aten ops as AOTAutograd gives it: compiled when it first runs, once for each set of sizes, or run by PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from operator import getitem
from threading import Lock
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _get_current_dispatch_mode

from ttc.dialects.core.errors import Error
from ttc.dynamo.binding import Changed, Outdated
from ttc.dynamo.draws import Draw, take_out
from ttc.dynamo.session import CompiledGraph, GraphJob, Placeholder
from ttc.dynamo.settings import Settings
from ttc.dynamo.shared import compiled_graph
from ttc.importers.common.unsupported import UnsupportedOps
from ttc.runtime.metrics import counter, ticks

MAX_SIZES = 32
"""The most sets of sizes that one graph is kept compiled for: those used last."""
MAX_TRIES = 8
"""How often a graph is compiled in one call because tensors change that were prepared for it."""
_RAISED = ("E01", "E09")
"""Beginnings of codes of errors that no other way of running helps: options, and bugs."""

_MISSES, _EVICTIONS, _FALLBACKS = counter("graph_cache_misses"), counter("graph_evictions"), counter("fallbacks")
_hit = ticks("graph_cache_hits").tick

Run = Callable[[Sequence[Any]], Sequence[Any]]


class AtenGraph:
    """A graph of aten ops that runs, compiled for each combination of shapes it meets.  Thread-safe.

    Args:
        graph: functional; its nodes carry `meta["val"]`.
        name: of the graph.
        placeholders: of the graph, in order.
        settings: how it is compiled.
    """

    def __init__(self, graph: fx.GraphModule, name: str, placeholders: Sequence[Placeholder], settings: Settings) -> None:
        self._graph = graph
        self._name = name
        self._placeholders = tuple(placeholders)
        self._settings = settings
        examples = [node.meta.get("val") for node in graph.graph.find_nodes(op="placeholder")]
        self._open = [position for position, example in enumerate(examples) if is_open(example)]
        self._cases: dict[tuple[object, ...], _Case] = {}
        self._dropped = False
        self._lock = Lock()

    def __call__(self, values: list[Any]) -> list[Any]:
        """Return the outputs for values of the placeholders; the list is emptied.

        Raises E08xx, and without fallback what compiling raises."""
        given = tuple(values)
        values.clear()
        if getattr(_get_current_dispatch_mode(), "expands_graphs", False):
            return list(self._graph(*given))
        return list(self._case(given)(given))

    def prepare(self, given: Sequence[Any]) -> None:
        """Compile the graph for these values of the placeholders.  Raises what compiling raises, without fallback."""
        self._case(tuple(given)).prepare(tuple(given))

    def _case(self, given: tuple[Any, ...]) -> _Case:
        """Return the graph for the sizes of these values, which becomes the one used last."""
        sizes = tuple([_sizes(given[i]) for i in self._open])
        if not self._open and self._cases:
            _hit()
            return self._cases[sizes]
        with self._lock:
            case = self._cases.pop(sizes, None)
            if case is None:
                _MISSES.add()
                self._make_room()
                graph = _with_sizes(self._graph, given) if self._open else self._graph
                case = _Case(GraphJob(graph, self._name, self._placeholders), self._settings)
            else:
                _hit()
            self._cases[sizes] = case
            return case

    def _make_room(self) -> None:
        if len(self._cases) < MAX_SIZES:
            return
        self._cases.pop(next(iter(self._cases)))
        _EVICTIONS.add()
        if not self._dropped:
            self._dropped = True
            what = f"the graph {self._name} runs with more than {MAX_SIZES} sets of sizes"
            warnings.warn(f"{what}: those used least recently are compiled again when they return; pad inputs to fewer sizes", stacklevel=2)


class _Case:
    """A graph for one set of sizes."""

    def __init__(self, job: GraphJob, settings: Settings) -> None:
        self._job = self._first = job
        self._holds_all = False
        self._settings = settings
        self._draws: tuple[Draw, ...] = ()
        self._refusal: Error | None = None
        self._run: Run | None = None
        self._lock = Lock()
        try:
            self._draws = take_out(job.graph)
        except Error as error:
            self._refusal = error

    def __call__(self, given: tuple[Any, ...]) -> Sequence[Any]:
        values = (*given, *[draw() for draw in self._draws])
        for _ in range(MAX_TRIES):
            run = self._run or self._compiled(values)
            try:
                return run(values)
            except Outdated:
                self._run = None
            except Changed as changed:
                self._read(changed.positions)
        raise Error("E0901", f"the tensors of {self._job.name} change while it is compiled")

    def prepare(self, given: tuple[Any, ...]) -> None:
        """Compile the graph, without a draw from PyTorch's generator."""
        with torch.random.fork_rng(devices=[]):
            values = (*given, *[draw() for draw in self._draws])
        self._compiled(values)

    def _read(self, positions: Collection[int]) -> None:
        """Have the graph compiled once more, with the tensors of these placeholders among its inputs, if it can be."""
        with self._lock:
            if self._holds_all:
                self._run = None
                return
            placeholders = [replace(p, held=p.held and i not in positions) for i, p in enumerate(self._job.placeholders)]
            self._job, self._run = replace(self._job, placeholders=placeholders), None

    def _compiled(self, values: tuple[Any, ...]) -> Run:
        with self._lock:
            if self._run is None:
                self._run = self._session(values) if self._refusal is None else self._fallback(self._refusal)
            return self._run

    def _session(self, values: tuple[Any, ...]) -> Run:
        try:
            check_devices(self._job.graph)
            make = CompiledGraph if self._holds_all else compiled_graph  # what holds a value for good is compiled for each
            return make(self._job.with_drawn(), values, self._settings)
        except Error as error:
            if self._job is self._first:
                return self._fallback(error)
        self._job, self._holds_all = self._first, True  # a tensor that is an input now is taken as a constant alone
        return self._session(values)

    def _fallback(self, error: Error) -> Run:
        """PyTorch's own way to run the graph.  Raises the error where there is none, or none is wanted."""
        if error.code.startswith(_RAISED) or not self._settings.fallback:
            raise error
        ops = ", ".join(refusal.op for refusal in error.refusals) if isinstance(error, UnsupportedOps) else None
        _FALLBACKS.add(1, error.code, self._job.name, ops or error.message)
        warnings.warn(f"PyTorch runs the graph {self._job.name}, which ttc cannot compile: {error}", stacklevel=2)
        graph = self._job.graph
        return lambda values: graph(*values)


def is_open(value: Any) -> bool:
    """Return whether a value of tracing is a symbol, or a tensor with symbols for sizes."""
    if isinstance(value, torch.Tensor):
        return any(isinstance(d, torch.SymInt) for d in (*value.shape, *value.stride()))
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def _sizes(value: Any) -> object:
    return (tuple(value.shape), value.stride()) if isinstance(value, torch.Tensor) else value


def _with_sizes(graph: fx.GraphModule, given: Sequence[Any]) -> fx.GraphModule:
    """Return the graph for the sizes that these values have; it still takes them all."""
    values = [v.detach() if isinstance(v, torch.Tensor) else v for v in given]
    with torch.no_grad(), preserve_node_meta():
        traced = make_fx(fx.Interpreter(graph).run, tracing_mode="fake", _allow_non_fake_inputs=True)(*values)
    for node in traced.graph.find_nodes(op="call_function", target=getitem):  # tracing takes all results of an op, read or not
        if not node.users:
            traced.graph.erase_node(node)
    traced.recompile()
    return traced


def check_devices(graph: fx.GraphModule) -> None:
    """Raises E0202 unless all tensors are plain ones of the CPU."""
    for node in graph.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and (value.device.type != "cpu" or value.layout != torch.strided):
                what = f"{str(value.layout).removeprefix('torch.')} on device {value.device}"
                raise Error("E0202", f"tensor '{node.name}' is {what}; only strided tensors on the CPU are supported")
