"""Losses: sums, counts and gradients against PyTorch's, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dialects.nn.training.computing import computed
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.training.losses import BCE, KL, L1, LOSSES, MSE, NLL, CrossEntropy, Huber, Loss, Output, SmoothL1, loss_of_text
from ttc.dialects.nn.training.losses import BCEWithLogits as Logits

torch: Any = pytest.importorskip("torch", reason="losses are compared with PyTorch's")
nn = torch.nn
F64, F32 = np.dtype(np.float64), np.dtype(np.float32)
WEIGHT = (0.5, 2.0, 1.0, 0.25, 3.0)


def found(loss: Loss, x: np.ndarray, target: np.ndarray) -> tuple[float, float, np.ndarray]:
    """The loss, its count, and its gradient."""
    total, count, gradient = computed(lambda b, v: loss.terms(b, v[0], v[1]), [x, target], [0])
    over = count if loss.reduction != "sum" else 1.0
    return float(total / over), float(count), gradient / over


def agrees(loss: Loss, reference: Any, x: np.ndarray, target: np.ndarray) -> None:
    mine, _, gradient = found(loss, x, target)
    given = torch.tensor(x, requires_grad=True)
    value = reference(given, torch.tensor(target))
    value.backward()
    assert mine == pytest.approx(value.item(), rel=1e-12)
    np.testing.assert_allclose(gradient, given.grad.numpy(), rtol=1e-10, atol=1e-13)


CLASSES = [
    (CrossEntropy(), nn.CrossEntropyLoss()),
    (CrossEntropy(WEIGHT, 3, 0.2), nn.CrossEntropyLoss(torch.tensor(WEIGHT).double(), ignore_index=3, label_smoothing=0.2)),
    (CrossEntropy(ignore_index=1, label_smoothing=0.1), nn.CrossEntropyLoss(ignore_index=1, label_smoothing=0.1)),
    (CrossEntropy(reduction="sum", weight=WEIGHT), nn.CrossEntropyLoss(torch.tensor(WEIGHT).double(), reduction="sum")),
]


@pytest.mark.parametrize(("loss", "reference"), CLASSES)
@pytest.mark.parametrize("shape", [(7, 5), (4, 5, 3, 2), (5,)])
def test_cross_entropy(loss: Loss, reference: Any, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    rows = () if len(shape) == 1 else (shape[0], *shape[2:])
    target = np.asarray(rng.integers(0, 5, rows))
    assert loss.target(Spec(shape, F32)) == Spec(rows, np.dtype(np.int64))
    if rows == ():
        target = np.array(2)
    agrees(loss, reference, rng.standard_normal(shape), target)


def test_cross_entropy_of_probabilities(rng: np.random.Generator) -> None:
    x, target = rng.standard_normal((4, 5, 3)), rng.dirichlet(np.ones(5), (4, 3)).transpose(0, 2, 1).copy()
    loss = CrossEntropy(WEIGHT, label_smoothing=0.2, probabilities=True)
    assert loss.target(Spec((4, 5, 3), F32)) == Spec((4, 5, 3), F32)
    agrees(loss, nn.CrossEntropyLoss(torch.tensor(WEIGHT).double(), label_smoothing=0.2), x, target)


def test_classes_may_be_the_last_dimension(rng: np.random.Generator) -> None:
    x, target = rng.standard_normal((4, 3, 5)), rng.integers(0, 5, (4, 3))
    mine, _, gradient = found(CrossEntropy(axis=-1), x, target)
    other, _, moved = found(CrossEntropy(), x.transpose(0, 2, 1).copy(), target)
    assert mine == pytest.approx(other)
    np.testing.assert_allclose(gradient, moved.transpose(0, 2, 1))


def test_microbatches_add_sums_and_counts(rng: np.random.Generator) -> None:
    """Where targets are ignored in one half alone, the mean of means is another number."""
    x, target = rng.standard_normal((8, 5)), rng.integers(0, 5, 8)
    target[:3] = -100
    whole, _, _ = found(CrossEntropy(), x, target)
    parts = [found(CrossEntropy(), x[at : at + 4], target[at : at + 4])[:2] for at in (0, 4)]
    assert [count for _, count in parts] == [1, 4]
    assert sum(value * count for value, count in parts) / 5 == pytest.approx(whole)
    assert sum(value for value, _ in parts) / 2 != pytest.approx(whole)


def test_nll(rng: np.random.Generator) -> None:
    logs = np.log(rng.dirichlet(np.ones(5), 6))
    target = rng.integers(0, 5, 6)
    agrees(NLL(), nn.NLLLoss(), logs, target)
    agrees(NLL(WEIGHT, 2), nn.NLLLoss(torch.tensor(WEIGHT).double(), ignore_index=2), logs, target)


ELEMENTS = [
    (MSE(), nn.MSELoss()),
    (MSE("sum"), nn.MSELoss(reduction="sum")),
    (L1(), nn.L1Loss()),
    (SmoothL1(), nn.SmoothL1Loss()),
    (SmoothL1(0.3), nn.SmoothL1Loss(beta=0.3)),
    (SmoothL1(0.0), nn.SmoothL1Loss(beta=0.0)),
    (Huber(0.4), nn.HuberLoss(delta=0.4)),
]


@pytest.mark.parametrize(("loss", "reference"), ELEMENTS)
def test_losses_of_elements(loss: Loss, reference: Any, rng: np.random.Generator) -> None:
    assert loss.target(Spec((3, 4), np.dtype(np.float16))) == Spec((3, 4), F32)
    agrees(loss, reference, rng.standard_normal((3, 4)), rng.standard_normal((3, 4)))


def test_losses_of_truths(rng: np.random.Generator) -> None:
    x, target = rng.uniform(0.01, 0.99, (6, 5)), rng.uniform(0, 1, (6, 5))
    agrees(BCE(), nn.BCELoss(), x, target)
    agrees(BCE(WEIGHT), nn.BCELoss(torch.tensor(WEIGHT).double()), x, target)
    logits = 3 * rng.standard_normal((6, 5))
    agrees(Logits(), nn.BCEWithLogitsLoss(), logits, target)
    weights = torch.tensor(WEIGHT).double()
    agrees(Logits(WEIGHT, tuple(reversed(WEIGHT))), nn.BCEWithLogitsLoss(weights, pos_weight=weights.flip(0)), logits, target)


def test_certain_probabilities_have_finite_losses_and_gradients() -> None:
    value, _, gradient = found(BCE(), np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0]))
    assert value == 50
    assert np.isfinite(gradient).all()


def test_divergence(rng: np.random.Generator) -> None:
    x, target = np.log(rng.dirichlet(np.ones(5), 4)), rng.dirichlet(np.ones(5), 4)
    target[0, 0] = 0
    agrees(KL(), nn.KLDivLoss(), x, target)
    agrees(KL(reduction="batchmean"), nn.KLDivLoss(reduction="batchmean"), x, target)
    agrees(KL(log_target=True, reduction="sum"), nn.KLDivLoss(reduction="sum", log_target=True), x, np.log(target + 0.1))


def test_an_output_is_the_loss(rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 3))
    total, count = computed(lambda b, v: Output().terms(b, v[0], None), [x])
    assert (float(total), float(count)) == (pytest.approx(x.sum()), 6)
    total, count = computed(lambda b, v: Output().terms(b, v[0], None), [x[0, 0]])
    assert (float(total), float(count)) == (x[0, 0], 1)
    assert Output().target(Spec((), F32)) is None


def test_losses_are_text() -> None:
    loss = CrossEntropy((0.5, 2.0), ignore_index=-1, label_smoothing=0.1)
    assert loss.text == "cross_entropy:weight=0.5/2.0,ignore_index=-1,label_smoothing=0.1"
    assert loss_of_text(loss.text) == loss
    assert loss_of_text("cross-entropy") == CrossEntropy()
    assert all(loss_of_text(name).text == name for name in LOSSES)
    assert loss_of_text("kl: log_target=TRUE, reduction=sum") == KL(log_target=True, reduction="sum")


REFUSED = [
    ("cros_entropy", "E0101", "there is no loss 'cros_entropy'", "cross_entropy"),
    ("mse:beta=1", "E0101", "loss mse has no setting 'beta'", "reduction"),
    ("huber:delta=wide", "E0101", "loss huber: delta cannot be 'wide'", "finite"),
    ("huber:delta=nan", "E0101", "loss huber: delta cannot be 'nan'", "finite"),
    ("huber:delta", "E0101", "loss huber: 'delta' is no setting", "key=value"),
    ("huber:delta=1,delta=2", "E0101", "loss huber has 'delta' twice", None),
    ("kl:log_target=2", "E0101", "loss kl: log_target cannot be '2'", "true or false"),
]


@pytest.mark.parametrize(("text", "code", "message", "hint"), REFUSED)
def test_bad_texts(text: str, code: str, message: str, hint: str | None) -> None:
    with pytest.raises(Error) as caught:
        loss_of_text(text)
    assert (caught.value.code, caught.value.message) == (code, message)
    assert hint is None or hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "spec", "code"),
    [
        ("cross_entropy", Spec((), F32), "E0401"),
        ("cross_entropy:axis=2", Spec((3, 4), F32), "E0412"),
        ("cross_entropy:weight=1/2", Spec((3, 4), F32), "E0401"),
        ("cross_entropy:label_smoothing=2", Spec((3, 4), F32), "E0101"),
        ("mse", Spec((3, 4), np.dtype(np.int64)), "E0403"),
        ("mse:reduction=none", Spec((3,), F32), "E0101"),
        ("smooth_l1:beta=-1", Spec((3,), F32), "E0101"),
        ("huber:delta=0", Spec((3,), F32), "E0101"),
        ("bce:weight=1/2", Spec((3,), F32), "E0401"),
        ("bce_with_logits:pos_weight=1/2", Spec((3,), F32), "E0401"),
    ],
)
def test_what_losses_refuse(text: str, spec: Spec, code: str) -> None:
    with pytest.raises(Error) as caught:
        loss_of_text(text).target(spec)
    assert caught.value.code == code
