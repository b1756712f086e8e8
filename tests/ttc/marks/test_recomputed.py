"""Parts of a model that are computed again in backward passes."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.dialects.core.ir.locations import source_names

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


class Marked(torch.nn.Module):
    """A function and a module that are marked, between others."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(3, 4), ttc.recompute(torch.nn.Linear(4, 4))

    def forward(self, x: Any) -> Any:
        return self.second(ttc.recompute(torch.tanh)(self.first(x))).exp()


def test_ops_inside_have_the_mark_in_their_location() -> None:
    from ttc.importers.torch import import_module

    module, _ = import_module(Marked(), (torch.zeros(2, 3),))
    marked = {op.name for op in module.walk() if any(name.startswith("recompute.") for name in source_names(op.location))}
    assert "nn.tanh" in marked
    assert "nn.matmul" in marked
    assert "nn.exp" not in marked


def test_it_changes_no_number() -> None:
    model, reference, x = Marked(), Marked(), torch.ones(4, 3)
    with ttc.training(model, loss="mse", optimizer="sgd:lr=0.1", target="host", threads=1) as executor:
        executor(x, torch.zeros(4, 4))
        executor.pull_weights()
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
    torch.nn.functional.mse_loss(reference(x), torch.zeros(4, 4)).backward()
    optimizer.step()
    for found, wanted in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
