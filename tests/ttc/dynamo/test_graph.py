"""Graphs of aten ops: sizes that change, kinds of tensors, memory that is shared or written to, threads."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from ttc.dialects.core.errors import TtcWarning  # noqa: E402
from ttc.dynamo import graph as module  # noqa: E402

Compile = Callable[..., Any]


def same(run: Any, function: Any, *inputs: Any) -> None:
    """Outputs, which are fresh, and inputs as the call leaves them are equal: values, dtypes and strides."""
    ours, theirs = [x.clone() for x in inputs], [x.clone() for x in inputs]
    found, expected = run(*ours), function(*theirs)
    pairs = zip(torch.utils._pytree.tree_leaves((found, ours)), torch.utils._pytree.tree_leaves((expected, theirs)), strict=True)
    for a, b in pairs:
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()


# ---- sizes ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_three_batches(compiled: Compile, graphs: list[str], dynamic: bool | None) -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    run = compiled(model, dynamic=dynamic)
    with torch.no_grad():
        for batch in (2, 3, 5, 3, 2):
            x = torch.randn(batch, 1, 4, 4)
            torch.testing.assert_close(run(x), model(x))
    assert graphs == ["inference"] * (4 if dynamic is None else 3)  # None: static at first, then another graph for all sizes


def test_sizes_in_results_and_training(compiled: Compile, graphs: list[str]) -> None:
    def function(x: Any, w: Any) -> Any:
        y = F.dropout(x @ w, 0.5).reshape(x.shape[0] * 2, -1)
        return y * x.shape[0], x.shape[0] + 1

    run = compiled(function, dynamic=True)
    for rows in (2, 3, 2):
        inputs = torch.randn(rows, 4), torch.randn(4, 6, requires_grad=True)
        gradients = []
        for call in (run, function):
            torch.manual_seed(rows)
            y, size = call(*inputs)
            gradients.append((y.detach(), *torch.autograd.grad(y.square().sum(), inputs[1])))
            assert size == rows + 1
        torch.testing.assert_close(*gradients)
    assert sorted(graphs) == ["backward"] * 2 + ["forward"] * 2


LAYERS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "batch norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), (3, 6, 6)),
    "batch norm of instances": (lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (3, 4, 4)),
    "group norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.GroupNorm(2, 4)), (3, 4, 4)),
    "layer norm": (lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8)), (6,)),
    "max pool": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)), (3, 6, 6)),
    "max pool of sequences": (lambda: nn.MaxPool1d(2), (3, 6)),
    "average pool": (lambda: nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2)), (3, 6, 6)),
    "dropout": (lambda: nn.Dropout(0.3), (6,)),
    "recurrent": (lambda: nn.LSTM(4, 3, batch_first=True), (5, 4)),
    "attention": (lambda: nn.MultiheadAttention(8, 2, batch_first=True), (5, 8)),
}
"""A layer of each kind whose ops give more than is read, or keep statistics, and the shape of a row."""


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("kind", LAYERS)
def test_every_batch_runs_compiled(compiled: Compile, kind: str, mode: str) -> None:
    """Without a fallback, so that a graph that could not be compiled would raise."""
    make, row = LAYERS[kind]
    model = make().train(mode == "train")
    twin = copy.deepcopy(model)
    run, repeats = compiled(model), 3 if kind == "attention" else 1
    for batch in (2, 3, 5, 2, 1):
        x = torch.randn(batch, *row, generator=torch.Generator().manual_seed(batch))
        found = []
        for call in (run, twin):
            torch.manual_seed(batch)
            with torch.set_grad_enabled(mode == "train"):
                given = x.clone().requires_grad_(mode == "train")
                results = torch.utils._pytree.tree_leaves(call(*[given] * repeats))
            if mode == "train":
                torch.stack([y.sin().sum() for y in results]).sum().backward()
            found.append([*results, given.grad])
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    for (name, ours), theirs in zip(model.state_dict().items(), twin.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, theirs, msg=name)
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)


def test_the_sets_of_sizes_used_last_are_kept(compiled: Compile, graphs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SIZES", 2)
    run = compiled(lambda x: x * x.shape[0], dynamic=True)

    def check(*sizes: int) -> None:
        for rows in sizes:
            torch.testing.assert_close(run(torch.ones(rows)), torch.full((rows,), float(rows)))

    with warnings.catch_warnings():
        warnings.simplefilter("error", TtcWarning)
        check(2, 3, 2)
    assert len(graphs) == 2
    with pytest.warns(UserWarning, match="runs with more than 2 sets of sizes"):
        check(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TtcWarning)
        check(2)
        assert len(graphs) == 3
        check(3)
    assert len(graphs) == 4


def test_strides_may_change_where_sizes_do(compiled: Compile) -> None:
    run = compiled(lambda x: (x * 2, x.reshape(-1)), dynamic=True)
    for x in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2]):
        for ours, theirs in zip(run(x), (x * 2, x.reshape(-1)), strict=True):
            torch.testing.assert_close(ours, theirs)
            assert ours.stride() == theirs.stride()


# ---- kinds of tensors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_floating_point(compiled: Compile, dtype: str) -> None:
    x, w = (torch.randn(*shape).to(getattr(torch, dtype)) for shape in ((3, 4), (5, 4)))
    same(compiled(lambda x, w: (F.linear(x, w).relu(), x.float(), x.t())), lambda x, w: (F.linear(x, w).relu(), x.float(), x.t()), x, w)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "bool"])
def test_integers(compiled: Compile, dtype: str) -> None:
    def function(x: Any) -> Any:
        return x + 1, x * 3, x > 1, x.to(torch.float32), x.sum()

    same(compiled(function), function, torch.arange(5).to(getattr(torch, dtype)))


def test_empty_tensors_and_scalars(compiled: Compile) -> None:
    def function(x: Any, s: Any) -> Any:
        return x + s, x.sum(), x @ torch.ones(4, 2), torch.cat([x, torch.ones(1, 4)]), s * 2

    same(compiled(function), function, torch.zeros(0, 4), torch.tensor(3.0))


def test_strides_are_those_of_pytorch(compiled: Compile) -> None:
    def function(x: Any, w: Any) -> Any:
        return F.conv2d(x, w), x.transpose(1, 3) * 2, x[:, ::2, 1:] + 1

    x = torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last)
    same(compiled(function), function, x, torch.randn(4, 3, 3, 3))
    y = torch.randn(6, 8)[::2, 1::2].t()
    torch.testing.assert_close(compiled(lambda y: y.exp())(y), y.exp())


@pytest.mark.parametrize("make", [lambda: torch.ones(3, dtype=torch.complex64), lambda: torch.ones(3, device="meta")])
def test_tensors_of_other_kinds_stay_in_pytorch(compiled: Compile, make: Callable[[], Any]) -> None:
    x = make()
    with pytest.warns(UserWarning, match="complex64 are not supported|on device meta; only strided tensors on the CPU"):
        assert compiled(lambda x: x * 2, fallback=True)(x).device == x.device


# ---- memory -----------------------------------------------------------------------------------------------------------------------


def test_writing_to_inputs_and_views_of_them(compiled: Compile) -> None:
    def function(x: Any, y: Any) -> Any:
        x.add_(1)
        x[0] = 5
        y[1:].mul_(2)
        return x * 2, y.view(-1), x

    same(compiled(function), function, torch.ones(3), torch.ones(3))


def test_results_that_are_views_share_memory_as_in_pytorch(compiled: Compile) -> None:
    x = torch.randn(2, 3)
    view, base, part = compiled(lambda x: (x.view(-1), x, (x + 1)[0]))(x)
    assert view.data_ptr() == x.data_ptr() == base.data_ptr()
    first = part.clone()
    x.zero_()
    torch.testing.assert_close(part, first)


def test_results_outlive_the_call(compiled: Compile) -> None:
    run = compiled(lambda x: x + 1)
    results = [run(torch.full((64,), float(i))) for i in range(4)]
    for i, y in enumerate(results):
        torch.testing.assert_close(y, torch.full((64,), i + 1.0))
    results[0].zero_()
    assert float(results[1][0]) == 2


def test_constants_of_the_program(compiled: Compile) -> None:
    def function(x: Any) -> Any:
        return x + torch.tensor([1.0, 2.0, 3.0]), torch.arange(3) * 2

    same(compiled(function), function, torch.randn(3))


def test_names_may_meet(compiled: Compile) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.Parameter(torch.randn(3))

        def forward(self, relu: Any, add: Any) -> Any:
            return torch.relu(relu) * self.relu + add

    model, inputs = Named(), (torch.randn(3), torch.randn(3))
    run = compiled(model)
    torch.testing.assert_close(run(*inputs), model(*inputs))
    run(*inputs).sum().backward()
    torch.testing.assert_close(model.relu.grad, inputs[0].relu())


# ---- threads ----------------------------------------------------------------------------------------------------------------------


def test_threads_share_what_is_compiled(compiled: Compile, graphs: list[str]) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    inputs = [torch.randn(4, 8) for _ in range(8)]
    run = compiled(model)

    def call(x: Any) -> Any:
        with torch.no_grad():
            return [run(x) for _ in range(5)][-1]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(call, inputs))
    with torch.no_grad():
        for ours, x in zip(found, inputs, strict=True):
            torch.testing.assert_close(ours, model(x))
    assert set(graphs) == {"inference"}
