"""What forward graphs keep for backward graphs: whole tensors, once, in the order of their memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import fx

from ttc.dynamo import saved
from ttc.dynamo.tensor_runs import TensorRuns

HOST = {"target": "host", "threads": 1, "fallback": False}


class Attention(torch.nn.Module):
    """Causal attention of two heads, whose queries, keys and values are parts of one product; it gives a row of its results, too."""

    def __init__(self) -> None:
        super().__init__()
        self.product, self.last = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows, words, _ = x.shape
        q, k, v = (part.reshape(rows, words, 2, 4).transpose(1, 2) for part in self.product(x).chunk(3, -1))
        read = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(rows, words, 8)
        found = torch.nn.functional.gelu(self.last(read))
        return found, found[:, 0].sin()


def _loss(found: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    return found[0].square().sum() + found[1].exp().sum()


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> list[tuple[fx.GraphModule, fx.GraphModule, int]]:
    """Graphs that were split, and the number of outputs of each forward graph that are the caller's."""
    found: list[tuple[fx.GraphModule, fx.GraphModule, int]] = []
    keep = saved.keep_whole

    def told(forward: fx.GraphModule, backward: fx.GraphModule, own_outputs: int) -> None:
        keep(forward, backward, own_outputs)
        found.append((forward, backward, own_outputs))

    monkeypatch.setattr(saved, "keep_whole", told)
    return found


def _gradients(network: torch.nn.Module, x: torch.Tensor, call: Any) -> list[torch.Tensor]:
    network.zero_grad()
    _loss(call(x)).backward()
    return [parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None]


def test_all_that_is_kept_is_whole_and_gradients_are_those_of_pytorch(split: list[tuple[fx.GraphModule, fx.GraphModule, int]]) -> None:
    torch.manual_seed(5)
    network, x = Attention(), torch.randn(3, 6, 8)
    wanted = _gradients(network, x, network)
    for got, expected in zip(_gradients(network, x, torch.compile(network, backend="ttc", options=HOST)), wanted, strict=True):
        torch.testing.assert_close(got, expected)
    ((forward, backward, own_outputs),) = split
    (end,) = forward.graph.find_nodes(op="output")
    outputs: list[Any] = list(end.args[0])
    kept = [output for output in outputs[own_outputs:] if output.op == "call_function"]
    assert len(end.meta["desc"]) == len(outputs)
    assert all(output.meta["val"].is_contiguous() for output in kept)
    assert sum(output.meta["val"].shape[-1] == 24 for output in kept) == 1  # the product, in the place of its three parts
    assert {output.name for output in kept} <= {node.name for node in backward.graph.find_nodes(op="placeholder")}
    for graph in (forward, backward):
        graph.graph.lint()


def test_backward_graphs_run_on_the_memory_of_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[bool] = []
    written: Any = TensorRuns._written

    def told(self: TensorRuns, executor: Any, given: Any) -> Any:
        found = written(self, executor, given)
        runs.append(found is not None)
        return found

    monkeypatch.setattr(TensorRuns, "_written", told)
    torch.manual_seed(5)
    network = Attention()
    _gradients(network, torch.randn(3, 6, 8), torch.compile(network, backend="ttc", options=HOST))
    assert runs == [True, True]


def test_graphs_of_open_sizes_are_split_as_pytorch_does(split: list[tuple[fx.GraphModule, fx.GraphModule, int]]) -> None:
    torch.manual_seed(5)
    network = Attention()
    compiled = torch.compile(network, backend="ttc", dynamic=True, options=HOST)
    for rows in (3, 5):
        x = torch.randn(rows, 6, 8)
        for got, expected in zip(_gradients(network, x, compiled), _gradients(network, x, network), strict=True):
            torch.testing.assert_close(got, expected)
    assert split == []
