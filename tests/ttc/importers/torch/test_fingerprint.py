"""The text by which exported programs are known: the same for the same program, another one for all that the importer reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="programs are exported")

from ttc.importers.torch.exporting import export_module  # noqa: E402
from ttc.importers.torch.fingerprint import fingerprint, tensors_of  # noqa: E402


class Net(torch.nn.Module):
    """A linear layer, dropout, a number and a buffer."""

    def __init__(self, factor: float = 2.0, shift: float = 1.0) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.dropout = torch.nn.Dropout(0.5)
        self.factor = factor
        self.register_buffer("shift", torch.full((3,), shift))

    def forward(self, x: Any) -> Any:
        return self.dropout(self.linear(x)) * self.factor + self.shift


def text(model: Any, *arrays: Any, name: str = "net", **settings: Any) -> str | None:
    return fingerprint(export_module(model, arrays or (torch.zeros(2, 3),), **settings), name)


def tied(model: Net) -> Net:
    model.linear.bias = torch.nn.Parameter(model.linear.weight.detach()[0])
    return model


def test_values_of_tensors_are_no_part_of_it() -> None:
    assert text(Net()) == text(Net(shift=2.0)) is not None


CHANGES: dict[str, Callable[[], str | None]] = {
    "number": lambda: text(Net(factor=3.0)),
    "mode": lambda: text(Net().eval()),
    "shape": lambda: text(Net(), torch.zeros(4, 3)),
    "dtype": lambda: text(Net().double(), torch.zeros(2, 3).double()),
    "name": lambda: text(Net(), name="other"),
    "shared": lambda: text(tied(Net())),
    "frozen": lambda: text(Net().requires_grad_(False)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_the_importer_reads_is_part_of_it(change: Callable[[], str | None]) -> None:
    found = change()
    assert found is not None
    assert found != text(Net())


def test_bodies_of_branches_are_part_of_it() -> None:
    class Branch(torch.nn.Module):
        def __init__(self, number: float) -> None:
            super().__init__()
            self.number = number

        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda x: x + self.number, lambda x: x - 1, (x,))

    assert text(Branch(1.0)) == text(Branch(1.0)) is not None
    assert text(Branch(1.0)) != text(Branch(2.0))


def test_what_text_cannot_tell_has_none() -> None:
    library = torch.library.Library("fingerprint", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: 2 * x, "CompositeExplicitAutograd")

    class Foreign(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ops.fingerprint.double(x)

    assert text(Foreign()) is None
    assert text(Net(), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}}) is None


def test_tensors_share_memory_with_the_module() -> None:
    model = Net()
    found = tensors_of(export_module(model, (torch.zeros(2, 3),)))
    assert found is not None
    assert list(found) == ["linear.weight", "linear.bias", "shift"]
    assert found["shift"].value().ctypes.data == model.shift.data_ptr()
    model.linear.to(torch.device("meta"))
    assert tensors_of(export_module(model.to("meta"), (torch.zeros(2, 3, device="meta"),))) is None
