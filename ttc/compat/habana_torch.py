"""Graphs, metrics and calls of habana_frameworks.torch, by their arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ttc import graphs, metrics
from ttc.compat.names import ignored, told
from ttc.dialects.core.errors import Error, nearest
from ttc.graphs import graph
from ttc.inputs.files import write_bytes

__all__ = ["graph"]
_AT_ONCE = "a call has done its work when it returns"
_MEMORY = "graphs keep the memory that they need"
EFFECTLESS: dict[str, str] = {
    "asynchronous": _AT_ONCE,
    "disable_tensor_cache": _MEMORY,
    "free_inplace": _MEMORY,
    "dry_run": "nothing is compiled before a graph is captured",
    "have_grad_accumulation": "gradients are added up as PyTorch does",
    "log_frequency": "ttc.metrics counts graphs",
    "verbose": "ttc.metrics counts graphs",
}
"""Arguments of graphs that are taken and have no effect, with the reason."""


class HPUGraph(graphs.Graph):
    """A graph that is captured, and replayed on the same memory."""

    def __init__(self) -> None:
        told("habana_frameworks' HPUGraph", "ttc.graphs.Graph")
        super().__init__()


def make_graphed_callables(callables: Any, sample_args: Any, warmup: int = 0, allow_unused_input: bool = False, **effectless: Any) -> Any:
    """Return callables that replay graphs of their forward and backward passes."""
    told("habana_frameworks' make_graphed_callables", "ttc.graphs.make_graphed_callables")
    _ignore(effectless)
    return graphs.make_graphed_callables(callables, sample_args, warmup, allow_unused_input)


class ModuleCacher:
    """Keeps graphs of a model for the shapes that it is called with.

    Args:   max_graphs: signatures that have one, the first that come; or, with `use_lfu`, those that come most often.
    """

    def __init__(self, max_graphs: int = 10) -> None:
        told("habana_frameworks' ModuleCacher", "ttc.graphs.cache")
        self._most = max_graphs

    def __call__(
        self, model: torch.nn.Module, use_lfu: bool = False, inplace: bool = True, allow_unused_input: bool = False, **effectless: Any
    ) -> torch.nn.Module:
        """Return the model, which replays graphs from now on.  Raises E0105 for a copy."""
        if not inplace:
            raise Error("E0105", "inplace=False is not supported: a model is changed, as a copy would have other parameters")
        _ignore({**effectless, **({"allow_unused_input": True} if allow_unused_input else {})}, allow_unused_input=_UNUSED)
        return graphs.cache(model, self._most, "lfu" if use_lfu else "first")


_UNUSED = "results of models may not depend on some of their inputs, always"


def wrap_in_hpu_graph(
    module: torch.nn.Module, *, max_graphs: int | None = None, disable_tensor_cache: bool = False, **effectless: Any
) -> torch.nn.Module:
    """Return the model, which replays graphs in evaluation from now on.

    disable_tensor_cache: whether memory of results is given back after every replay.
    """
    told("habana_frameworks' wrap_in_hpu_graph", "ttc.graphs.wrap")
    _ignore(effectless)
    return graphs.wrap(module, max_graphs, release_outputs=disable_tensor_cache)


def mark_step(*_: Any, **__: Any) -> None:
    """Do nothing: no work is put off."""
    ignored("habana_frameworks' mark_step", "no work is put off")


def initialize_distributed_hpu() -> tuple[int, int, int]:
    """Return the number of processes, and of this one among all and on its host, as torchrun gives them."""
    import os

    told("habana_frameworks' initialize_distributed_hpu", "ttc.dist.mesh")
    return int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0")), int(os.environ.get("LOCAL_RANK", "0"))


def is_available() -> bool:
    """Return whether ttc runs on this machine."""
    from ttc.process.platform import require_supported

    try:
        require_supported()
    except Error:
        return False
    return True


def device_count() -> int:
    """Return 1: processes are as many as a launcher starts."""
    return 1


def current_device() -> int:
    """Return 0, the number of the only device of a process."""
    return 0


def get_device_name(*_: Any) -> str:
    """Return the name of the device, which is the host."""
    return "host"


def synchronize(*_: Any) -> None:
    """Do nothing: a call has done its work when it returns."""
    ignored("habana_frameworks' synchronize", _AT_ONCE)


_ROWS: dict[str, Callable[[metrics.Readings], list[tuple[str, Any]]]] = {
    "graph_compilation": lambda read: _timed(read.value("compilations"), read.value("compile_seconds")),
    "cpu_fallback": lambda read: [
        ("TotalNumber", int(read.value("fallbacks"))),
        ("FallbackOps", sorted({key[2] for key in read.values("fallbacks") if len(key) > 2})),
    ],
    "recipe_cache": lambda read: [
        ("TotalHit", int(read.value("graph_cache_hits"))),
        ("TotalMiss", int(read.value("graph_cache_misses"))),
    ],
}
"""What each metric has."""


class HabanaMetric:
    """A metric by the name that habana_frameworks has for it.

    Args:
        name: of `graph_compilation`, `cpu_fallback`, `recipe_cache`.
        read: the metrics of ttc.
    Raises: E0101 for another name.
    """

    def __init__(self, name: str, read: metrics.Readings) -> None:
        if name not in _ROWS:
            raise Error("E0101", f"there is no metric '{str(name)[:40]}'", hint=nearest(str(name), _ROWS))
        self._name, self._read = name, read

    def stats(self) -> list[tuple[str, Any]]:
        """Return counters with their values; times are in microseconds."""
        return _ROWS[self._name](self._read)


def metric_global(name: str) -> HabanaMetric:
    """Return a metric of the process."""
    told("habana_frameworks' metric_global", "ttc.metrics.snapshot")
    return HabanaMetric(name, metrics.snapshot())


@contextmanager
def metric_localcontext(name: str) -> Iterator[HabanaMetric]:
    """Return a metric that counts what happens while a block runs."""
    told("habana_frameworks' metric_localcontext", "ttc.metrics.scope")
    with metrics.scope(name) as scope:
        yield HabanaMetric(name, scope)


def metrics_dump(file: str | Path, format: str = "json") -> None:  # noqa: A002  the name that it has there
    """Write the metrics of the process as JSON, or as lines of text.  Raises E0101 for another format, E0103."""
    if format not in ("json", "text"):
        raise Error("E0101", f"metrics cannot be written as '{str(format)[:40]}'", hint="json, text")
    found = {name: dict(HabanaMetric(name, metrics.snapshot()).stats()) for name in _ROWS}
    text = json.dumps(found) if format == "json" else "\n".join(f"{name}: {values}" for name, values in found.items()) + "\n"
    write_bytes(Path(file), text.encode())


def _timed(count: float, seconds: float) -> list[tuple[str, Any]]:
    return [("TotalNumber", int(count)), ("TotalTime", seconds * 1e6), ("AvgTime", seconds * 1e6 / count if count else 0.0)]


def _ignore(arguments: dict[str, Any], **more: str) -> None:
    """Tell of arguments without an effect.  Raises E0101 for unknown ones."""
    for name, value in arguments.items():
        if name not in EFFECTLESS and name not in more:
            raise Error("E0101", f"graphs have no argument '{name[:40]}'", hint=nearest(name, EFFECTLESS))
        if value:
            ignored(f"habana_frameworks' {name}", EFFECTLESS.get(name) or more[name])
