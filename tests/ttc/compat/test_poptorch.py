"""Programs written for PopTorch, with the numbers of PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.draws import rng_of_test
from ttc.compat import install
from ttc.dialects.core.errors import Error

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


@pytest.fixture
def poptorch() -> Iterator[Any]:
    yield install("poptorch")
    for name in ("poptorch", "poptorch.optim"):
        sys.modules.pop(name, None)


def drawn(*shape: int) -> Any:
    return torch.from_numpy(rng_of_test().standard_normal(shape).astype(np.float32))


def test_output_modes_of_inference(poptorch: Any) -> None:
    torch.manual_seed(0)
    model, x = torch.nn.Linear(6, 20), drawn(10, 1, 5, 6)
    native, mode = model(x), poptorch.OutputMode
    cases = [
        ((mode.All,), native),
        ((mode.EveryN, 5), native[[4, 9]]),
        ((mode.Final,), native[-1:]),
        ((mode.Sum,), native.sum(0, keepdim=True)),
    ]
    for arguments, expected in cases:
        options = poptorch.Options().deviceIterations(10).outputMode(*arguments)
        torch.testing.assert_close(poptorch.inferenceModel(model, options)(x), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(poptorch.inferenceModel(model, device_iterations=10)(x), native, rtol=1e-5, atol=1e-5)


class WithLoss(torch.nn.Module):
    """A model whose forward gives its output and its loss, in two blocks."""

    def __init__(self, poptorch: Any) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first = poptorch.BeginBlock(torch.nn.Linear(6, 8), ipu_id=0)
        self.second = poptorch.IPU(1, torch.nn.Linear(8, 6))
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, x: Any, labels: Any = None) -> Any:
        y = self.second(torch.relu(self.first(x)))
        return y if labels is None else (y, self.loss(y, labels))


def test_the_later_form_trains_and_the_model_has_the_weights(poptorch: Any) -> None:
    import poptorch.optim as optim  # pyright: ignore[reportMissingImports] - made by install

    model, reference = WithLoss(poptorch), WithLoss(poptorch)
    options = poptorch.Options().deviceIterations(2)
    options.Training.gradientAccumulation(2)
    trained = poptorch.trainingModel(model, options=options, optimizer=optim.SGD(model.parameters(), lr=0.1))
    expected = torch.optim.SGD(reference.parameters(), lr=0.1)
    loader = poptorch.DataLoader(options, torch.utils.data.TensorDataset(drawn(16, 6), torch.arange(16) % 6), batch_size=2)
    for x, labels in loader:
        out, loss = trained(x, labels)
        assert (tuple(out.shape), tuple(loss.shape)) == ((2, 6), ())
        for a, b in zip(x.chunk(2), labels.chunk(2), strict=True):
            expected.zero_grad()
            reference(a, b)[1].backward()
            expected.step()
    for found, wanted in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    inference = poptorch.inferenceModel(model)
    x = drawn(4, 6)
    torch.testing.assert_close(inference(x), reference(x), rtol=1e-5, atol=1e-5)


def test_shapes_of_losses_follow_the_output_mode(poptorch: Any) -> None:
    x, labels, mode = drawn(12, 6), torch.arange(12) % 6, poptorch.OutputMode
    for arguments, rows, losses in (((mode.All,), 12, (6,)), ((mode.EveryN, 2), 6, (3,)), ((mode.Sum,), 2, ()), ((mode.Final,), 2, ())):
        options = poptorch.Options().deviceIterations(3).outputMode(*arguments)
        options.Training.gradientAccumulation(2)
        out, loss = poptorch.trainingModel(WithLoss(poptorch), options)(x, labels)
        assert (len(out), tuple(loss.shape)) == (rows, losses)


class OwnLoss(torch.nn.Module):
    """A loss that marks itself."""

    def __init__(self, poptorch: Any) -> None:
        super().__init__()
        self.poptorch = poptorch

    def forward(self, x: Any, target: Any) -> Any:
        each = self.poptorch.identity_loss((x - target).abs(), reduction="none")
        return self.poptorch.identity_loss(each, reduction="mean")


def test_the_first_form_with_a_loss_of_its_own_and_new_rates(poptorch: Any, capfd: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    model, x, target = torch.nn.Linear(10, 10), drawn(1, 10), drawn(1, 10)
    trained = poptorch.trainingModel(model, 10, loss=OwnLoss(poptorch), optimizer=torch.optim.SGD(model.parameters(), lr=0.02))
    rows, targets = x.expand(10, 10).contiguous(), target.expand(10, 10).contiguous()
    _, first = trained(rows, targets)
    for _ in range(60):
        out, loss = trained(rows, targets)
    trained.setOptimizer(torch.optim.SGD(model.parameters(), lr=0.0))
    out, loss = trained(rows, targets)
    assert first.item() > 0.1 > loss.item()
    torch.testing.assert_close(model(x), out, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        model.bias += 1
    trained.copyWeightsToDevice()
    moved, _ = trained(rows, targets)
    torch.testing.assert_close(moved, out + 1, rtol=1e-4, atol=1e-4)


def test_accumulation_and_replicas(poptorch: Any) -> None:
    x, target = drawn(8, 10), drawn(8, 10)
    found = []
    for accumulate, replicas, rate, reduction in ((1, 1, 0.02, "Mean"), (2, 1, 0.01, "Sum"), (1, 2, 0.01, "Sum"), (2, 2, 0.02, "Mean")):
        torch.manual_seed(0)
        model = torch.nn.Linear(10, 10)
        options = poptorch.Options().replicationFactor(replicas)
        options.Training.gradientAccumulation(accumulate).Training.accumulationAndReplicationReductionType(
            getattr(poptorch.ReductionType, reduction)
        )
        trained = poptorch.trainingModel(
            model, loss=torch.nn.L1Loss(), optimizer=torch.optim.SGD(model.parameters(), lr=rate), options=options
        )
        trained(x, target)
        found.append(model.weight.detach().clone())
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=1e-4, atol=1e-5)


def test_printing(poptorch: Any, capfd: pytest.CaptureFixture[str]) -> None:
    class Printing(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return poptorch.ipu_print_tensor(x, "seen") * 2

    poptorch.inferenceModel(Printing())(torch.tensor([[1.4962566, 1.7682219]]))
    assert "seen: float32[1, 2]" in (err := capfd.readouterr().err)
    assert all(number in err for number in ("1.4962566", "1.7682219"))


def test_what_is_refused(poptorch: Any) -> None:
    model = torch.nn.Linear(2, 2)
    options = poptorch.Options()
    options.Training.gradientAccumulation(2)
    calls = [
        (lambda: poptorch.inferenceModel(model, options), "E0101", "Use deviceIterations"),
        (lambda: poptorch.Options().outputMode(poptorch.OutputMode.EveryN), "E0101", "period"),
        (lambda: poptorch.Options().setExecutionStrategy(1), "E0105", "one machine"),
        (lambda: poptorch.ipuHardwareVersion(), "E0105", "no IPU"),
        (lambda: poptorch.identity_loss(torch.zeros(2), "max"), "E0101", "no reduction 'max'"),
        (lambda: poptorch.inferenceModel(model, 3)(torch.zeros(4, 2)), "E0801", "no multiple of 3"),
        (lambda: poptorch.BeginBlock(poptorch.BeginBlock(model, ipu_id=0), ipu_id=1), "E0101", "already"),
    ]
    for call, code, message in calls:
        with pytest.raises(Error, match=message) as raised:
            call()
        assert raised.value.code == code
    with pytest.raises(AttributeError):
        poptorch.no_such_name  # noqa: B018
