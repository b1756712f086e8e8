"""Dropouts that PyTorch's decompositions turn into draws of zeros and ones, which do not tell what they are for.

That is so of dropouts of whole channels and of alpha dropouts, and of all that write over their input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx

_aten = torch.ops.aten


@torch.library.custom_op("ttc::feature_dropout", mutates_args=())
def _feature_dropout(x: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    return torch.feature_dropout(x, p, train).clone()


@torch.library.custom_op("ttc::alpha_dropout", mutates_args=())
def _alpha_dropout(x: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    return torch.alpha_dropout(x, p, train).clone()


@torch.library.custom_op("ttc::feature_alpha_dropout", mutates_args=())
def _feature_alpha_dropout(x: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    return torch.feature_alpha_dropout(x, p, train).clone()


for _definition in (_feature_dropout, _alpha_dropout, _feature_alpha_dropout):
    _definition.register_fake(lambda x, p, train: torch.empty_like(x))  # noqa: ARG005 - they are called by these names

_own = torch.ops.ttc
KEPT: dict[Any, Any] = {
    _aten.feature_dropout.default: _own.feature_dropout.default,
    _aten.alpha_dropout.default: _own.alpha_dropout.default,
    _aten.feature_alpha_dropout.default: _own.feature_alpha_dropout.default,
}
"""Ops of PyTorch that draw dropouts, and ours in their place, which decompositions leave alone."""
WRITTEN: dict[Any, Any] = {
    _aten.dropout_.default: _aten.dropout.default,
    _aten.feature_dropout_.default: _own.feature_dropout.default,
    _aten.alpha_dropout_.default: _own.alpha_dropout.default,
    _aten.feature_alpha_dropout_.default: _own.feature_alpha_dropout.default,
}
"""Ops that write over their input, and those that give the same as a new tensor."""


@contextmanager
def kept_dropouts(graph: fx.GraphModule) -> Iterator[None]:
    """Keep dropouts as ops inside the block; one that writes over its input becomes one, and a copy of its result over the input."""
    changed: list[tuple[fx.Node, Any, tuple[Any, ...]]] = []
    added: list[fx.Node] = []
    try:
        for part in (module.graph for module in graph.modules() if isinstance(module, fx.GraphModule)):
            for node in list(part.nodes):
                if node.target in KEPT:
                    changed.append((node, node.target, node.args))
                    node.target = KEPT[node.target]
                elif node.target in WRITTEN:
                    changed.append((node, node.target, node.args))
                    added.append(_before(part, node, WRITTEN[node.target]))
                    node.target, node.args = _aten.copy_.default, (node.args[0], added[-1])
        yield
    finally:
        for node, target, arguments in changed:
            node.target, node.args = target, arguments
        for node in added:
            node.graph.erase_node(node)


def _before(graph: fx.Graph, node: fx.Node, plain: Any) -> fx.Node:
    """Return a new node before another: the dropout that gives a new tensor."""
    with graph.inserting_before(node):
        made = graph.call_function(plain, node.args)
    made.meta = dict(node.meta)
    return made
