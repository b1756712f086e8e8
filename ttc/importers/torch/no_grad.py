"""Blocks of `torch.no_grad()`, which programs hold as higher-order ops that PyTorch's decompositions dissolve without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import fx

BLOCK = torch.ops.higher_order.wrap_with_set_grad_enabled


@contextmanager
def detached_blocks(graph: fx.GraphModule) -> Iterator[None]:
    """Detach, inside the block, what parts without gradients give to others, so that decompositions keep what these parts mean."""
    added: list[tuple[fx.Node, fx.Node]] = []
    try:
        for body in _blocks(graph):
            for node in list(body.graph.nodes):
                readers = [user for user in node.users if user.op == "output" or user.target is BLOCK]
                if readers and node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor):
                    added.append((node, _detached(body, node, readers)))
        yield
    finally:
        for node, detached in reversed(added):
            detached.replace_all_uses_with(node)
            detached.graph.erase_node(detached)
        for body in _blocks(graph):
            body.recompile()


def _blocks(graph: fx.GraphModule) -> list[fx.GraphModule]:
    """Return the bodies of all blocks without gradients, nested ones too."""
    found: dict[int, fx.GraphModule] = {}
    for module in graph.modules():
        nodes = module.graph.find_nodes(op="call_function", target=BLOCK) if isinstance(module, fx.GraphModule) else []
        for node in nodes:
            enabled, body = node.args[:2]
            if not enabled and isinstance(body, fx.Node) and isinstance(module, fx.GraphModule):
                part = module.get_submodule(str(body.target))
                found |= {id(part): part} if isinstance(part, fx.GraphModule) else {}
    return list(found.values())


def _detached(body: fx.GraphModule, node: fx.Node, readers: list[fx.Node]) -> fx.Node:
    """Return a new node behind another, whose readers it takes."""
    with body.graph.inserting_after(node):
        made = body.graph.call_function(torch.ops.aten.detach.default, (node,))
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made, lambda user: user in readers)
    body.recompile()
    return made
