"""Each module is compiled, however many there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from ttc import metrics
from ttc.dialects.core.errors import Error
from ttc.dist.compiling import compile_part, compile_unit
from ttc.dynamo import limited

MODULES = 10
"""More than TorchDynamo has graphs for a function, unless it is told to."""


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


@pytest.mark.parametrize("compile_it", [compile_part, compile_unit])
def test_shapes_of_a_module(compile_it: Callable[[nn.Module, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is compiled, up to a number: PyTorch never runs the module instead."""
    torch._dynamo.reset()
    monkeypatch.setattr(limited, "MAX_VARIANTS", MODULES)
    module = nn.Linear(2, 1)
    compile_it(module, "host")
    with metrics.scope("shapes") as counted, torch.no_grad():
        for rows in range(2, MODULES + 2):
            module(torch.ones(rows, 2))
        assert counted.flat()["compilations"] == counted.flat()["runs"] == MODULES
        with pytest.raises(Error, match=f"E0805.*Linear differs between its calls in more than {MODULES} ways"):
            module(torch.ones(MODULES + 2, 2))


def test_without_a_target_nothing_changes() -> None:
    module = nn.Linear(1, 1)
    compile_part(module, None)
    assert module._compiled_call_impl is None
