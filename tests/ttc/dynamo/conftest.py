"""What tests of the backend share: PyTorch on one thread, and nothing compiled before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakValueDictionary

import pytest


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()
    torch.set_num_threads(threads)


@pytest.fixture
def compiled() -> Callable[..., Any]:
    """Compile for the host; a graph that cannot be compiled raises unless `fallback=True`."""
    import torch

    from ttc.dynamo import backend

    def compile_(function: Any, *, dynamic: bool | None = None, **options: Any) -> Any:
        return torch.compile(function, backend=backend, dynamic=dynamic, options={"target": "host", "fallback": False, **options})

    return compile_


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the graphs that were compiled, in order."""
    from ttc.dynamo import graph, shared
    from ttc.dynamo.session import CompiledGraph, GraphJob

    names: list[str] = []

    def counted(job: GraphJob, *args: Any) -> CompiledGraph:
        names.append(job.name.partition("_")[0])
        return CompiledGraph(job, *args)

    monkeypatch.setattr(graph, "CompiledGraph", counted)
    monkeypatch.setattr(shared, "CompiledGraph", counted)
    monkeypatch.setattr(shared, "_COMPILED", WeakValueDictionary())
    return names


@pytest.fixture(scope="session")
def strange() -> Any:
    """An op that no importer knows: it halves."""
    import torch

    @torch.library.custom_op("ttc_tests::strange", mutates_args=(), schema="(Tensor x) -> Tensor")
    def strange(x: torch.Tensor) -> torch.Tensor:
        return x / 2

    strange.register_fake(torch.empty_like)
    return strange
