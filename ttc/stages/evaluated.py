"""The ops of a stage as they are in evaluation: without dropout, with running statistics, and without changes of buffers."""

from __future__ import annotations

from collections.abc import Mapping

from torch import fx

from ttc.stages.assigned import is_update

MODES: Mapping[str, object] = {"train": False, "training": False, "is_training": False, "dropout_p": 0.0, "use_input_stats": False}
"""Values in evaluation of the arguments of ops that say how they are in training, by the names that PyTorch's schemas have for them."""


def in_evaluation(graph: fx.Graph) -> fx.Graph:
    """Return a copy of a graph that was exported in training, as the model would have been exported in evaluation."""
    made = fx.Graph()
    made.output(made.graph_copy(graph, {}))
    for node in list(made.nodes):
        if node.op != "call_function" or not hasattr(node.target, "_schema"):
            continue
        if is_update(node) and not node.users:
            made.erase_node(node)
            continue
        for place, argument in enumerate(node.target._schema.arguments):
            if argument.name not in MODES:
                continue
            if argument.name in node.kwargs:
                node.update_kwarg(argument.name, MODES[argument.name])
            elif place < len(node.args):
                node.update_arg(place, MODES[argument.name])
    return made
