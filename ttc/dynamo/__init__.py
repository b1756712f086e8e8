"""The backend of PyTorch's compiler: `torch.compile(model, backend="ttc")`.

PyTorch finds the backend through the entry point group `torch_dynamo_backends` and gives it one graph after the other (settings: its
options).  AOTAutograd takes each apart into a forward and a backward graph of aten ops (aot), whose random numbers PyTorch draws (draws);
a graph is compiled when it first runs, once for each set of sizes, or runs in PyTorch if it cannot be (graph).  Parameters that are trained
are inputs of the graphs; others are prepared for a compiled graph (binding), and become inputs when they are found changed.
A compiled graph takes and gives tensors (tensors).

The package itself does not load torch: who calls the backend has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.fx import GraphModule


def backend(
    graph: GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None
) -> Callable[..., Any]:
    """Compile a graph of TorchDynamo; what `torch.compile` calls.

    Args:
        graph: of torch calls, its parameters among its placeholders.
        example_inputs: a value for each placeholder.
        options: `target`, `format`, `precision`, `dump`, ... as `ttc.compile` takes them, `engine`, `exact`, `threads` as `ttc.load` does;
            and `fallback`: whether a graph that cannot be compiled runs in PyTorch, with a warning (the default), or raises.
        mode: torch.compile's, of which there is none here.
    Raises: E0101 for options, E0104 for a machine on which ttc does not run.
    """
    from ttc.dynamo.settings import read_settings

    settings = read_settings(options, mode)
    from ttc.dynamo.aot import compile_graph

    return compile_graph(graph, example_inputs, settings)
