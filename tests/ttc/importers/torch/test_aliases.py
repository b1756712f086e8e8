"""Buffers under several names, of which one is changed: one state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402


class Twice(torch.nn.Module):
    """A sum of all inputs so far that two buffers are, and a field of an object."""

    def __init__(self) -> None:
        super().__init__()
        total = torch.zeros(3)
        self.register_buffer("total", total)
        self.register_buffer("again", total)
        self.held = SimpleNamespace(total=total)


class ByBuffer(Twice):
    """Changed by its second name, read by its first."""

    def forward(self, x: Any) -> Any:
        self.again.add_(x)
        return self.total * 2


class ByField(Twice):
    """Changed by the field, read by both of the buffer's names."""

    def forward(self, x: Any) -> Any:
        self.held.total.add_(x)
        return self.total + self.again


@pytest.mark.parametrize("kind", [ByBuffer, ByField])
def test_a_buffer_under_several_names_is_one_state(kind: Any) -> None:
    module = kind()
    x = torch.tensor([1.0, 2.0, 3.0])
    program = torch.export.export(module, (x,), strict=False)
    text, kept = str(program.graph), dict(program.constants)
    with ttc.Executor(ttc.compile(program, (x,), target="host")) as executor:
        assert [executor(x.numpy())[0].tolist() for _ in range(2)] == [[2, 4, 6], [4, 8, 12]]
        assert list(executor.states()) == ["total"]
    assert str(program.graph) == text
    assert all(program.constants[name] is tensor for name, tensor in kept.items())
    np.testing.assert_array_equal(module.total, np.zeros(3))
