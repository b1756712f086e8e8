"""Captures work of PyTorch as graphs, compiles them, and replays them on the same memory; like graphs of `torch.cuda`.

    g = ttc.graphs.Graph(target="host")
    with ttc.graphs.graph(g):            # runs the work, and records it
        loss = step(static_input)
    static_input.copy_(batch)
    g.replay()                           # writes into `loss`, gradients, weights: the tensors of the capture

While work is captured, the ops that PyTorch dispatches are noted with the memory that they read and write (tape): forward passes,
backward passes and updates alike.  The tape becomes a function of what it read from outside (functional), which is compiled as graphs of
torch.compile are, and kept with those (graph).  Modules and functions become pairs of graphs for both passes (callables), and models keep
graphs for the signatures that they are called with (caching).
"""

from __future__ import annotations

from ttc.graphs.caching import cache, wrap
from ttc.graphs.callables import make_graphed_callables
from ttc.graphs.graph import Graph, graph

__all__ = ["Graph", "cache", "graph", "make_graphed_callables", "wrap"]
