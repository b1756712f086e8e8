"""Optimizers as nn functions: new values of a parameter and of its states, from its gradient and numbers of rank 0."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.nn.formulas import Formula, Term
from ttc.dialects.nn.training.settings import NamedSettings, named


@record(eq=False)
class ParameterUpdate:
    """One parameter that is to be updated.

    Args:
        parameter, gradient: its value, and the gradient of the loss.
        numbers: hyper-parameters of rank 0, by the name of the setting; those that are absent have the setting's value.
        states: by slot, of the parameter's shape.
        step: number of this update, from 1, of rank 0.
        settings: the optimizer.
    """

    parameter: Formula
    gradient: Formula
    numbers: Mapping[str, Formula]
    states: Mapping[str, Formula]
    step: Formula
    settings: Any

    def number(self, name: str) -> Term:
        """Return a hyper-parameter: what comes in, else the setting."""
        found = self.numbers.get(name)
        return getattr(self.settings, name) if found is None else found


Updated = tuple[Formula, dict[str, Formula]]
"""The new value of the parameter, and those of its states by slot."""


class Optimizer(NamedSettings, ABC):
    """The base of optimizers: how new parameters follow from gradients.

    Settings that are numbers come in with every run, so that schedules never compile again; those that are 0 and switch a part of the
    formula off (`OPTIONAL`) do not.
    """

    WHAT: ClassVar[str] = "optimizer"
    OPTIONAL: ClassVar[tuple[str, ...]] = ("weight_decay",)
    AT_LEAST: ClassVar[Mapping[str, float]] = {"lr": 0, "eps": 0, "weight_decay": 0, "momentum": 0, "lr_decay": 0}
    BELOW_ONE: ClassVar[tuple[str, ...]] = ("beta1", "beta2", "alpha")
    lr: float
    maximize: bool

    def numbers(self) -> dict[str, float]:
        """The settings that come in with every run, with the values they have here."""
        found = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}  # pyright: ignore[reportArgumentType]
        return {key: float(x) for key, x in found.items() if type(x) in (int, float) and (x or key not in self.OPTIONAL)}

    def structure(self) -> tuple[Any, ...]:
        """Return what must be the same in all groups of parameters: the optimizer, and its settings that are no numbers."""
        return (self.NAME, *(getattr(self, i.name) for i in dataclasses.fields(self) if type(getattr(self, i.name)) is bool))  # pyright: ignore[reportArgumentType]

    def check(self) -> None:
        """Refuse settings out of range.  Raises E0101."""
        for key, least in self.AT_LEAST.items():
            if getattr(self, key, least) < least:
                raise Error("E0101", f"optimizer {self.NAME}: {key} cannot be {getattr(self, key):g}", hint=f"it is at least {least:g}")
        for key in self.BELOW_ONE:
            if not 0 <= getattr(self, key, 0.0) < 1:
                raise Error("E0101", f"optimizer {self.NAME}: {key} cannot be {getattr(self, key):g}", hint="it is at least 0 and below 1")

    @abstractmethod
    def slots(self) -> dict[str, float]:
        """States of each parameter by name, with the number they all start with."""

    @abstractmethod
    def updated(self, site: ParameterUpdate) -> Updated:
        """Return the new values of the parameter and its states."""

    def gradient(self, site: ParameterUpdate) -> Formula:
        """Return the gradient of what is made smaller."""
        return -site.gradient if self.maximize else site.gradient

    def decayed(self, site: ParameterUpdate) -> Formula:
        """Return the gradient with weight decay added: that of the weights' squares."""
        found = self.gradient(site)
        return found + site.parameter * site.number("weight_decay") if self._has(site, "weight_decay") else found

    def _has(self, site: ParameterUpdate, name: str) -> bool:
        return name in site.numbers or getattr(self, name) != 0


def _moved(old: Formula, new: Formula, rate: Term) -> Formula:
    """rate old + (1 - rate) new."""
    return old * rate + new * (1.0 - rate)


def _norm(x: Formula) -> Formula:
    """Return the Euclidean norm of all elements, of rank 0."""
    b = x.b
    squares = b.nn("mul", x.value, x.value)
    rank = b.rank(squares)
    total = b.nn("reduce_sum", squares, axes=tuple(range(rank)), keepdims=False) if rank else squares
    return Formula(b, b.nn("sqrt", total))


@record
class SGD(Optimizer):
    """Gradient descent, with momentum: buffer = momentum buffer + (1 - dampening) gradient, p -= lr buffer.

    Args:    lr, momentum, dampening, weight_decay: as in PyTorch.  nesterov: whether the step looks ahead.  maximize: whether it ascends.
    Source:  torch.optim.SGD.
    """

    NAME: ClassVar[str] = "sgd"
    OPTIONAL: ClassVar[tuple[str, ...]] = ("momentum", "dampening", "weight_decay")
    lr: float = 1e-3
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    maximize: bool = False

    def check(self) -> None:
        super().check()
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise Error("E0101", "optimizer sgd: nesterov needs momentum, and no dampening")

    def slots(self) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if self.momentum else {}

    def updated(self, site: ParameterUpdate) -> Updated:
        gradient, rate = self.decayed(site), site.number("lr")
        if not self._has(site, "momentum"):
            return site.parameter - gradient * rate, {}
        momentum, fresh = site.number("momentum"), gradient
        if self._has(site, "dampening"):
            share = site.step * 0.0 + 1.0 - site.number("dampening")
            fresh = gradient * (site.step <= 1.0).choose(1.0, share)
        buffer = site.states["momentum_buffer"] * momentum + fresh
        step = gradient + buffer * momentum if self.nesterov else buffer
        return site.parameter - step * rate, {"momentum_buffer": buffer}


class _Moments(Optimizer):
    """What optimizers with a mean of gradients and one of their squares have in common."""

    beta1: float
    beta2: float

    def moments(self, site: ParameterUpdate, gradient: Formula) -> tuple[Formula, Formula]:
        """The new means of gradients and of their squares."""
        mean = _moved(site.states["exp_avg"], gradient, site.number("beta1"))
        return mean, _moved(site.states["exp_avg_sq"], gradient * gradient, site.number("beta2"))

    def corrections(self, site: ParameterUpdate) -> tuple[Formula, Formula]:
        """1 - beta^step of both means, of rank 0."""
        return 1.0 - _power(site.number("beta1"), site.step), 1.0 - _power(site.number("beta2"), site.step)


def _power(base: Term, exponent: Formula) -> Formula:
    return base**exponent


@record
class Adam(_Moments):
    """p -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps), for the moving means m of gradients and v of their squares.

    Args:    lr, beta1, beta2, eps: as in PyTorch.  weight_decay: adds to the gradient.  amsgrad: whether v never decreases.
             maximize: whether it ascends.
    Source:  torch.optim.Adam.
    """

    NAME: ClassVar[str] = "adam"
    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = False
    maximize: bool = False

    def slots(self) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0} | ({"max_exp_avg_sq": 0.0} if self.amsgrad else {})

    def updated(self, site: ParameterUpdate) -> Updated:
        return self._stepped(site, site.parameter, self.decayed(site))

    def _stepped(self, site: ParameterUpdate, parameter: Formula, gradient: Formula) -> Updated:
        mean, square = self.moments(site, gradient)
        states = {"exp_avg": mean, "exp_avg_sq": square}
        largest = square
        if self.amsgrad:
            largest = states["max_exp_avg_sq"] = site.states["max_exp_avg_sq"].at_least(square)
        first, second = self.corrections(site)
        below = largest.of("sqrt") / second.of("sqrt") + site.number("eps")
        return parameter - mean / below * (site.number("lr") / first), states


@record
class AdamW(Adam):
    """Adam with weights that decay by themselves: p *= 1 - lr weight_decay.

    Args:    lr, beta1, beta2, eps, weight_decay: as in PyTorch.  amsgrad: whether v never decreases.  maximize: whether it ascends.
    Source:  torch.optim.AdamW.
    """

    NAME: ClassVar[str] = "adamw"
    weight_decay: float = 1e-2

    def updated(self, site: ParameterUpdate) -> Updated:
        parameter = site.parameter
        if self._has(site, "weight_decay"):
            parameter = parameter * (1.0 - _product(site.number("lr"), site.number("weight_decay")))
        return self._stepped(site, parameter, self.gradient(site))


def _product(x: Term, y: Term) -> Term:
    return x * y


@record
class RMSprop(Optimizer):
    """p -= lr g / (sqrt(v) + eps), for the moving mean v of squares; centered: less the square of the mean; with momentum.

    Args:    lr, alpha, eps, weight_decay, momentum: as in PyTorch.  centered: whether v is a variance.  maximize: whether it ascends.
    Source:  torch.optim.RMSprop.
    """

    NAME: ClassVar[str] = "rmsprop"
    OPTIONAL: ClassVar[tuple[str, ...]] = ("momentum", "weight_decay")
    lr: float = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False
    maximize: bool = False

    def slots(self) -> dict[str, float]:
        more = [*(["grad_avg"] if self.centered else []), *(["momentum_buffer"] if self.momentum else [])]
        return {"square_avg": 0.0, **dict.fromkeys(more, 0.0)}

    def updated(self, site: ParameterUpdate) -> Updated:
        gradient, rate = self.decayed(site), site.number("alpha")
        square = _moved(site.states["square_avg"], gradient * gradient, rate)
        states, spread = {"square_avg": square}, square
        if self.centered:
            mean = states["grad_avg"] = _moved(site.states["grad_avg"], gradient, rate)
            spread = square - mean * mean
        step = gradient / (spread.of("sqrt") + site.number("eps"))
        if self._has(site, "momentum"):
            step = states["momentum_buffer"] = site.states["momentum_buffer"] * site.number("momentum") + step
        return site.parameter - step * site.number("lr"), states


@record
class Adagrad(Optimizer):
    """p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps), for the sum s of squares.

    Args:    lr, lr_decay, weight_decay, eps: as in PyTorch.  initial_accumulator_value: what s starts with.  maximize: whether it ascends.
    Source:  torch.optim.Adagrad.
    """

    NAME: ClassVar[str] = "adagrad"
    OPTIONAL: ClassVar[tuple[str, ...]] = ("lr_decay", "weight_decay", "initial_accumulator_value")
    lr: float = 1e-2
    lr_decay: float = 0.0
    weight_decay: float = 0.0
    eps: float = 1e-10
    initial_accumulator_value: float = 0.0
    maximize: bool = False

    def numbers(self) -> dict[str, float]:
        found = super().numbers()
        found.pop("initial_accumulator_value", None)
        return found

    def slots(self) -> dict[str, float]:
        return {"sum": self.initial_accumulator_value}

    def updated(self, site: ParameterUpdate) -> Updated:
        gradient, rate = self.decayed(site), site.number("lr")
        total = site.states["sum"] + gradient * gradient
        if self._has(site, "lr_decay"):
            rate = rate / ((site.step - 1.0) * site.number("lr_decay") + 1.0)
        return site.parameter - gradient / (total.of("sqrt") + site.number("eps")) * rate, {"sum": total}


@record
class LAMB(_Moments):
    """p -= lr trust r, for r = m / (sqrt(v) + eps) + weight_decay p and trust = min(|p|, clip) / |r|, 1 where one of them is 0.

    Args:    lr, beta1, beta2, eps, weight_decay: as in Adam.  clip: of the norm of parameters.
             bias_correction: whether m and v are divided by 1 - beta^t.  maximize: whether it ascends.
    Source:  You et al., Large Batch Optimization for Deep Learning; Apex FusedLAMB has the same defaults.
    """

    NAME: ClassVar[str] = "lamb"
    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-6
    weight_decay: float = 1e-2
    clip: float = 10.0
    bias_correction: bool = True
    maximize: bool = False

    def slots(self) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def updated(self, site: ParameterUpdate) -> Updated:
        mean, square = self.moments(site, self.gradient(site))
        states = {"exp_avg": mean, "exp_avg_sq": square}
        if self.bias_correction:
            first, second = self.corrections(site)
            mean, square = mean / first, square / second
        step = mean / (square.of("sqrt") + site.number("eps"))
        if self._has(site, "weight_decay"):
            step = step + site.parameter * site.number("weight_decay")
        trust = _trust(_norm(site.parameter).at_most(site.number("clip")), _norm(step))
        return site.parameter - step * (trust * site.number("lr")), states


def _trust(above: Formula, below: Formula) -> Formula:
    """Return a quotient of norms; 1 where one of them is 0."""
    both = (above > 0.0) & (below > 0.0)
    return both.choose(above / both.choose(below, 1.0), 1.0)


@record
class LARS(Optimizer):
    """Momentum over trust (g + weight_decay p), for trust = coefficient |p| / (|g| + weight_decay |p| + eps), 1 where |p| or |g| is 0.

    Args:    lr, momentum, dampening, weight_decay: as in SGD.  nesterov: whether the step looks ahead.  coefficient, eps: of the trust.
             maximize: whether it ascends.
    Source:  You et al., Large Batch Training of Convolutional Networks.
    """

    NAME: ClassVar[str] = "lars"
    OPTIONAL: ClassVar[tuple[str, ...]] = SGD.OPTIONAL
    lr: float = 1e-3
    momentum: float = 0.9
    dampening: float = 0.0
    weight_decay: float = 1e-2
    coefficient: float = 1e-3
    eps: float = 1e-8
    nesterov: bool = False
    maximize: bool = False

    def check(self) -> None:
        super().check()
        SGD(nesterov=self.nesterov, momentum=self.momentum, dampening=self.dampening).check()

    def slots(self) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if self.momentum else {}

    def updated(self, site: ParameterUpdate) -> Updated:
        gradient = self.gradient(site)
        size, slope = _norm(site.parameter), _norm(gradient)
        below = slope + site.number("eps")
        if self._has(site, "weight_decay"):
            below = below + size * site.number("weight_decay")
        both = (size > 0.0) & (slope > 0.0)
        trust = both.choose(size / below * site.number("coefficient"), 1.0)
        plain = SGD(self.lr, self.momentum, self.dampening, 0.0, self.nesterov)
        numbers = {key: x for key, x in site.numbers.items() if key != "weight_decay"}
        return plain.updated(dataclasses.replace(site, gradient=self.decayed(site) * trust, numbers=numbers, settings=plain))


OPTIMIZERS: dict[str, type[Optimizer]] = {kind.NAME: kind for kind in (SGD, Adam, AdamW, RMSprop, Adagrad, LAMB, LARS)}
"""Classes of the optimizers by the names that users write."""


def optimizer_of_text(text: str) -> Optimizer:
    """Return the optimizer that a text stands for: `adamw:lr=0.001,weight_decay=0.01`.  Raises E0101."""
    found = named(text, OPTIMIZERS, "optimizer")
    found.check()
    return found
