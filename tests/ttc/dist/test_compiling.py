"""Each module is compiled, however many there are."""

from __future__ import annotations

import torch
from torch import nn
from torch._dynamo.utils import counters

from ttc.dist.compiling import compile_part, compile_unit

MODULES = 10
"""More than TorchDynamo has graphs for a function."""


def test_more_modules_than_a_function_has_graphs() -> None:
    torch._dynamo.reset()
    modules = [nn.Linear(width, 1) for width in range(1, MODULES + 1)]
    for number, module in enumerate(modules):
        (compile_unit if number % 2 else compile_part)(module, "host")
    before = counters["stats"]["unique_graphs"]
    for width, module in enumerate(modules, 1):
        x = torch.ones(2, width)
        torch.testing.assert_close(module(x), nn.functional.linear(x, module.weight, module.bias))
    assert counters["stats"]["unique_graphs"] - before == MODULES


def test_without_a_target_nothing_changes() -> None:
    module = nn.Linear(1, 1)
    compile_part(module, None)
    assert module._compiled_call_impl is None
