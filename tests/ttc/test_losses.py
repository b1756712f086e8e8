"""Losses that users give: records, text, and modules of torch.nn."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error
from ttc.losses import BCE, KL, L1, MSE, NLL, BCEWithLogits, CrossEntropy, Huber, SmoothL1, loss_of

torch: Any = pytest.importorskip("torch", reason="modules of PyTorch are recognised")
nn = torch.nn

MODULES = [
    (nn.CrossEntropyLoss(), CrossEntropy()),
    (
        nn.CrossEntropyLoss(torch.tensor([1.0, 0.5]), ignore_index=1, label_smoothing=0.25, reduction="sum"),
        CrossEntropy((1.0, 0.5), 1, 0.25, "sum"),
    ),
    (nn.NLLLoss(ignore_index=0), NLL(ignore_index=0)),
    (nn.BCELoss(), BCE()),
    (nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0])), BCEWithLogits(pos_weight=(2.0,))),
    (nn.MSELoss(), MSE()),
    (nn.L1Loss(reduction="sum"), L1("sum")),
    (nn.SmoothL1Loss(beta=0.5), SmoothL1(0.5)),
    (nn.HuberLoss(delta=0.5), Huber(0.5)),
    (nn.KLDivLoss(reduction="batchmean", log_target=True), KL(log_target=True, reduction="batchmean")),
]


@pytest.mark.parametrize(("module", "loss"), MODULES, ids=lambda x: type(x).__name__)
def test_modules_are_recognised(module: Any, loss: object) -> None:
    assert loss_of(module) == loss


def test_records_and_text() -> None:
    assert ttc.losses.MSE() is not None
    assert loss_of(MSE()) == loss_of("mse") == MSE()


class Own(nn.MSELoss):
    """A loss that is nobody else's."""


@pytest.mark.parametrize("loss", [Own(), nn.TripletMarginLoss(), 3, None])
def test_others_are_refused(loss: object) -> None:
    with pytest.raises(Error) as caught:
        loss_of(loss)
    assert caught.value.code == "E0101"
    assert "ttc.losses.Output" in str(caught.value.hint)


def test_weights_of_several_dimensions_are_refused() -> None:
    with pytest.raises(Error, match="go along one dimension"):
        loss_of(nn.BCELoss(torch.ones(2, 3)))
