"""What models for PopTorch print, and losses that they mark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import rng_of_test

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


class Printing(torch.nn.Module):
    """Prints what it takes, and gives a loss of it."""

    def __init__(self, poptorch: Any, **formatting: Any) -> None:
        super().__init__()
        self.poptorch, self.formatting = poptorch, formatting
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: Any, target: Any) -> Any:
        y = self.poptorch.ipu_print_tensor(x * self.weight, "seen", **self.formatting)
        return y, torch.nn.functional.mse_loss(y, target, reduction="sum")


@pytest.mark.parametrize(
    ("formatting", "value", "gradient"),
    [
        ({"digits": 7}, "[[1.4962566 1.7682219]", "[[0.9925132 1.5364437]"),
        ({"float_format": "fixed", "digits": 2}, "[[1.50 1.77]", "[[0.99 1.54]"),
        ({"float_format": "scientific", "digits": 2, "separator": ", "}, "[[1.50e+00, 1.77e+00]", "[[9.93e-01, 1.54e+00]"),
        ({"print_gradient": False}, "[[1.4962566 1.7682219]", None),
    ],
    ids=["auto", "fixed", "scientific", "values alone"],
)
def test_values_and_gradients_are_printed(
    poptorch: Any, capfd: pytest.CaptureFixture[str], formatting: dict[str, Any], value: str, gradient: str | None
) -> None:
    torch.manual_seed(0)
    x = torch.rand(2, 2) + 1
    model = Printing(poptorch, **formatting)
    poptorch.trainingModel(model, poptorch.Options(), torch.optim.SGD(model.parameters(), lr=0.0))(x, torch.ones(2, 2))
    printed = capfd.readouterr().err
    assert "seen: float32[2, 2]" in printed and value in printed  # noqa: PT018 - one text
    assert ("seen_gradient: float32[2, 2]" in printed) == (gradient is not None)
    assert gradient is None or gradient in printed


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_loss_that_is_marked_in_the_middle(poptorch: Any, reduction: str) -> None:
    class Marked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(2)
            self.linear = torch.nn.Linear(5, 3)

        def forward(self, x: Any, target: Any) -> Any:
            out = self.linear(x)
            middle = poptorch.identity_loss(out - target, reduction=reduction)
            return out, middle, poptorch.identity_loss(middle * middle, reduction="mean")

    model, reference = Marked(), Marked().linear
    rng = rng_of_test()
    x, target = (torch.from_numpy(rng.standard_normal((4, width)).astype(np.float32)) for width in (5, 3))
    trained = poptorch.trainingModel(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    out, middle, loss = trained(x, target)
    native = reference(x)
    wanted = native - target
    wanted = wanted if reduction == "none" else getattr(torch, reduction)(wanted)
    (wanted * wanted).mean().backward()
    assert (middle.numel() == 1) == (reduction != "none")
    for found, expected in ((out, native), (middle, wanted), (loss, (wanted * wanted).mean())):
        torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.linear.weight, reference.weight - 0.1 * reference.weight.grad, rtol=1e-5, atol=1e-5)


def test_names_of_scopes_and_ways_to_cut_products_change_nothing(poptorch: Any) -> None:
    class Scoped(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            with poptorch.NameScope("inside"):
                return poptorch.serializedMatMul(x, x, poptorch.MatMulSerializationMode.ReducingDim, 2)

    assert poptorch.inferenceModel(Scoped())(2 * torch.eye(2)).tolist() == [[4, 0], [0, 4]]
