"""Graphs node by node: arithmetic with sizes, numbers of data, results that nothing gives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from ttc.dialects.core.ir.entries import entry_functions, module_attr  # noqa: E402
from ttc.dialects.core.ir.locations import source_names  # noqa: E402
from ttc.importers.torch import import_module  # noqa: E402
from ttc.importers.torch.definitions import NAMES, define  # noqa: E402
from ttc.importers.torch.tables import rows  # noqa: E402
from ttc.importers.torch.walk import CHECKS, SIZES  # noqa: E402


class Called(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def agrees(function: Any, *inputs: Any, **settings: Any) -> None:
    executor = ttc.Executor(ttc.compile(Called(function), inputs, target="host", **settings))
    for ours, theirs in zip(executor(*[x.numpy() for x in inputs]), torch.utils._pytree.tree_leaves(function(*inputs)), strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-6, atol=1e-6)


def test_sizes_of_dynamic_dimensions_are_numbers() -> None:
    def function(x: Any, y: Any) -> Any:
        rows, columns = x.shape
        half = (rows * 2 - 4) // 2
        return x[:half].reshape(-1) * max(rows, columns) / (rows**2 % 7 + 1), y.new_zeros(rows - 1, x.numel()), rows, rows > 2

    dims = {0: torch.export.Dim("rows", min=4, max=32)}
    agrees(function, torch.rand(6, 3), torch.rand(6), dynamic_shapes=((dims, dims),))


def test_numbers_of_data_stay_tensors() -> None:
    def function(x: Any) -> Any:
        return x * x.max().item() + x.sum().item()

    agrees(function, torch.rand(5))


def test_values_of_integer_inputs_become_a_contract() -> None:
    def function(x: Any, count: Any) -> Any:
        n = count.item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0])
        return x.narrow(0, 0, n) * 2

    inputs = (torch.rand(5), torch.tensor(3))
    agrees(function, *inputs)
    module, _ = import_module(Called(function), inputs)
    assert [row[0] for row in module_attr(module, "fixed_inputs")] == ["inputs_1"]
    executor = ttc.Executor(ttc.compile(Called(function), inputs, target="host"))
    with pytest.raises(ttc.Error) as caught:
        executor(inputs[0].numpy(), np.int64(2))
    assert caught.value.code == "E0806"


def test_a_mapping_of_the_wrong_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rows(), "aten.atan.default", lambda b, x: b.nn("cast", x, dtype=np.dtype(np.float64)))
    with pytest.raises(ttc.Error, match="cannot be imported") as caught:
        import_module(Called(torch.atan), (torch.rand(2),))
    assert "gives float64[2], not float32[2]" in str(caught.value.excerpt)


def test_results_that_a_mapping_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rows(), "aten.sort.default", lambda b, x, dim, descending: (x, None))

    def both(x: Any) -> Any:
        return torch.sort(x)

    import_module(Called(lambda x: torch.sort(x).values), (torch.rand(2),))
    with pytest.raises(ttc.Error) as caught:
        import_module(Called(both), (torch.rand(2),))
    assert "its output 1 is not supported" in str(caught.value.excerpt)


def test_tables_name_overloads_of_pytorch() -> None:
    importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines those of quantized_decomposed
    importlib.import_module("ttc.marks.ops")  # define those of ttc
    importlib.import_module("ttc.train.hosted")
    importlib.import_module("ttc.dynamo.pools")
    for name in NAMES:
        define(name)
    for name in (*rows(), *SIZES, *CHECKS):
        space, op, *overload = name.split(".")
        found = getattr(getattr(torch.ops, space), op)
        assert space == "higher_order" or str(getattr(found, overload[0])) == name


def test_lines_of_the_program_are_the_users_own() -> None:
    module, _ = import_module(Called(lambda x: torch.nn.functional.gelu(x)), (torch.rand(2),))
    (op,) = (op for op in entry_functions(module)[0].walk() if op.name == "nn.gelu")
    assert source_names(op.location)[-1].startswith("test_walk.py:")


@pytest.mark.parametrize("kind", ["mul", "add", "alpha"])
def test_arithmetic_with_numbers_of_data_is_refused_where_it_is_an_operand(kind: str) -> None:
    def function(x: Any, y: Any) -> Any:
        if kind == "alpha":
            return torch.add(x, x, alpha=y[0].item())
        return x * (y[0].item() + 1) if kind == "mul" else x + (y[0].item() - 2)

    with pytest.raises(ttc.Error, match="needs a constant") as caught:
        import_module(Called(function), (torch.ones(3), torch.rand(4)))
    assert caught.value.code == "E0202"
