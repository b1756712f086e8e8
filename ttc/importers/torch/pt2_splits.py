"""Ops of a `.pt2` archive that give as many results as a tensor is long, or take as many steps: counted before PyTorch traces them.

A few bytes can claim 2^40 rows; splitting these would make as many tensors.  The graph is run on PyTorch's fake tensors, which have sizes
alone, and each such op is looked at before it runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._subclasses import FakeTensor
from torch.export import ExportedProgram

from ttc.dialects.core.errors import Error

MAX_RESULTS = 1 << 16
_SPLITS = ("aten.split.Tensor", "aten.unsafe_split.Tensor", "aten.split.default")
_UNBINDS = ("aten.unbind.int",)
_RECURRENT = tuple(f"aten.{cell}.input" for cell in ("lstm", "gru", "rnn_tanh", "rnn_relu"))


def check_splits(program: ExportedProgram) -> None:
    """Raises E0203 where an op gives more than MAX_RESULTS results, or takes as many steps."""
    if not any(str(node.target) in (*_SPLITS, *_UNBINDS, *_RECURRENT) for node in program.graph.nodes):
        return
    inputs = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    mode = next((v.fake_mode for v in inputs if isinstance(v, FakeTensor)), None)
    if mode is not None:
        with mode:
            _Sizes(program.graph_module).run(*inputs, enable_io_processing=False)


class _Sizes(fx.Interpreter):
    """Runs a graph on fake tensors."""

    def run_node(self, n: fx.Node) -> Any:
        args, _ = self.fetch_args_kwargs_from_env(n)
        results = _results(str(n.target), args) if args and isinstance(args[0], torch.Tensor) else 0
        if results > MAX_RESULTS:
            raise Error("E0203", f"{n.target} would give {results} results", where=n.name)
        return super().run_node(n)


def _results(op: str, args: tuple[Any, ...]) -> int:
    sizes = [_size(d) for d in args[0].shape]
    if op in _RECURRENT:
        return max(sizes[:2], default=0)
    if op not in (*_SPLITS, *_UNBINDS) or not sizes:
        return 0
    every = args[1] if op in _SPLITS else 1
    dim = args[2] if op in _SPLITS and len(args) > 2 else args[1] if op in _UNBINDS and len(args) > 1 else 0
    fits = type(dim) is int and -len(sizes) <= dim < len(sizes)
    return (sizes[dim] if fits else max(sizes)) // max(every if type(every) is int else 1, 1)


def _size(dim: Any) -> int:
    """Return a size, or for a symbol that of the example."""
    found = dim if type(dim) is int else dim.node.hint
    return MAX_RESULTS if found is None else int(found)
