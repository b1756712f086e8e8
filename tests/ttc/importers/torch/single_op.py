"""One op of PyTorch, imported, compiled for the host and compared with PyTorch's own kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source
from ttc.importers.torch.graphs import Fixed, GraphOutput, Input, graph_inputs, import_graph
from ttc.options import CompileOptions
from ttc.runtime.executor import Executor


def check(op: Any, *args: Any, tolerance: float = 2e-6, **kwargs: Any) -> None:
    """An op gives what PyTorch gives, all results that are tensors wanted."""
    leaves, tree = pytree.tree_flatten((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def call(*given: Any) -> list[Any]:
        rest = iter(given)
        positional, named = pytree.tree_unflatten([next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], tree)
        found = op(*positional, **named)
        return [r for r in (found if isinstance(found, tuple) else (found,)) if isinstance(r, torch.Tensor)]

    graph = make_fx(call, tracing_mode="fake")(*tensors)
    inputs = graph_inputs(graph)
    assert not any(isinstance(i, Fixed) for i in inputs)
    expected = call(*tensors)
    module, weights = import_graph(graph, "op", inputs, [GraphOutput(f"y{i}") for i in range(len(expected))])
    program = compile_source(Source(module, weights, "import"), CompileOptions(target="host")).program()
    names = [i.name for i in inputs if isinstance(i, Input)]
    found = Executor(program).run({name: t.numpy() for name, t in zip(names, tensors, strict=True)})
    for ours, wanted in zip(found.values(), (t.numpy() for t in expected), strict=True):
        assert ours.dtype == wanted.dtype
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=tolerance * max(1, float(abs(wanted).max(initial=0))))


def randn(*shape: int) -> torch.Tensor:
    """Normal numbers, the same for each shape."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))
