"""A plain loop in float64 that an executor of training is compared with: losses of PyTorch, optimizers of PyTorch, LAMB and LARS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

WIDTHS = (4, 6, 5)
"""Features, and in the end classes."""
WEIGHTS = torch.tensor([0.5, 2.0, 1.0, 0.25, 1.5])
LOSSES: dict[str, Callable[[], nn.Module]] = {
    "cross_entropy": nn.CrossEntropyLoss,
    "cross_entropy, weights": lambda: nn.CrossEntropyLoss(weight=WEIGHTS, ignore_index=2),
    "cross_entropy, smoothing": lambda: nn.CrossEntropyLoss(label_smoothing=0.2),
    "cross_entropy, all": lambda: nn.CrossEntropyLoss(weight=WEIGHTS, label_smoothing=0.1),
    "cross_entropy, sum": lambda: nn.CrossEntropyLoss(reduction="sum"),
    "nll": lambda: nn.NLLLoss(weight=WEIGHTS),
    "bce": nn.BCELoss,
    "bce_with_logits": lambda: nn.BCEWithLogitsLoss(weight=WEIGHTS, pos_weight=WEIGHTS.flip(0)),
    "mse": nn.MSELoss,
    "mse, sum": lambda: nn.MSELoss(reduction="sum"),
    "l1": nn.L1Loss,
    "smooth_l1": lambda: nn.SmoothL1Loss(beta=0.5),
    "huber": lambda: nn.HuberLoss(delta=0.7),
    "kl": nn.KLDivLoss,
    "kl, log": lambda: nn.KLDivLoss(log_target=True),
}
_LAST: dict[str, Callable[[], nn.Module]] = {"nll": lambda: nn.LogSoftmax(1), "kl": lambda: nn.LogSoftmax(1), "bce": nn.Sigmoid}
"""What networks end in, by the first word of a loss."""


class Lamb(torch.optim.Optimizer):
    """LAMB as its paper has it, with the norm of weights bounded by 10."""

    def __init__(self, parameters: Any, lr: float, eps: float, weight_decay: float) -> None:
        super().__init__(parameters, {"lr": lr, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """Update every parameter."""
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                count = state["count"] = state.get("count", 0) + 1
                mean = state["mean"] = 0.9 * state.get("mean", 0) + 0.1 * p.grad
                square = state["square"] = 0.999 * state.get("square", 0) + 0.001 * p.grad**2
                step = mean / (1 - 0.9**count) / ((square / (1 - 0.999**count)).sqrt() + group["eps"]) + group["weight_decay"] * p
                p -= group["lr"] * p.norm().clamp(max=10) / step.norm() * step


class Lars(torch.optim.Optimizer):
    """LARS as its paper has it."""

    def __init__(self, parameters: Any, lr: float, momentum: float, weight_decay: float, coefficient: float) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "coefficient": coefficient})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """Update every parameter."""
        for group in self.param_groups:
            for p in group["params"]:
                decay, state = group["weight_decay"], self.state[p]
                trust = group["coefficient"] * p.norm() / (p.grad.norm() + decay * p.norm() + 1e-8)
                buffer = state["buffer"] = group["momentum"] * state.get("buffer", 0) + trust * (p.grad + decay * p)
                p -= group["lr"] * buffer


Made = Callable[[Any], torch.optim.Optimizer]
OPTIMIZERS: dict[str, Made] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.3),
    "sgd, momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.1),
    "sgd, nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02, eps=0.01, weight_decay=0.1),
    "adam, amsgrad": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.9), eps=0.01, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02, eps=0.01, weight_decay=0.1),
    "adamw, maximize": lambda p: torch.optim.AdamW(p, lr=0.02, eps=0.01, amsgrad=True, maximize=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, eps=0.1),
    "rmsprop, centered": lambda p: torch.optim.RMSprop(p, lr=0.01, eps=0.1, centered=True, momentum=0.5, weight_decay=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.1, eps=0.01, initial_accumulator_value=0.1),
    "lamb": lambda p: Lamb(p, lr=0.02, eps=0.01, weight_decay=0.1),
    "lars": lambda p: Lars(p, lr=0.5, momentum=0.9, weight_decay=0.1, coefficient=0.05),
}
"""Optimizers over parameters; eps is so large that rounding does not choose the sign of a step."""
TEXTS = {"lamb": "lamb:lr=0.02,eps=0.01,weight_decay=0.1", "lars": "lars:lr=0.5,momentum=0.9,weight_decay=0.1,coefficient=0.05"}
"""The text by which `--optimizer` names those optimizers above that PyTorch does not have."""


def network(loss: str, seed: int) -> nn.Module:
    """Two linear layers, and the function whose values the loss takes."""
    torch.manual_seed(seed)
    a, b, c = WIDTHS
    return nn.Sequential(nn.Linear(a, b), nn.Tanh(), nn.Linear(b, c), _LAST.get(loss.split(",")[0], nn.Identity)())


def samples(loss: str, count: int, updates: int, seed: int) -> tuple[Any, Any]:
    """Inputs and targets; some classes are ignored, but one of every update counts."""
    draws, classes = np.random.default_rng(seed), WIDTHS[-1]
    x = torch.from_numpy(draws.standard_normal((count, WIDTHS[0])).astype(np.float32))
    if loss.startswith(("cross_entropy", "nll")):
        labels = draws.integers(0, classes, count)
        function: Any = LOSSES[loss]()
        labels[draws.random(count) < 0.3] = function.ignore_index
        labels[:: count // updates] = 1
        return x, torch.from_numpy(labels)
    values = torch.from_numpy(draws.standard_normal((count, classes)).astype(np.float32))
    if loss.startswith("kl"):
        return x, values.log_softmax(1) if "log" in loss else values.softmax(1)
    return x, values.sigmoid() if loss.startswith("bce") else values


def trained(loss: str, optimizer: str, seed: int, x: Any, y: Any, updates: int) -> tuple[list[Any], list[Any]]:
    """Gradients of the loss over all rows of the first update at first, and weights after all updates, in float64."""
    model, function = network(loss, seed).double(), LOSSES[loss]().double()
    steps, gradients = OPTIMIZERS[optimizer](model.parameters()), list[Any]()
    wide = y.double() if y.is_floating_point() else y
    for a, b in zip(x.double().chunk(updates), wide.chunk(updates), strict=True):
        steps.zero_grad()
        function(model(a), b).backward()
        gradients = gradients or [p.grad.clone() for p in model.parameters()]
        steps.step()
    return gradients, [p.detach() for p in model.parameters()]
