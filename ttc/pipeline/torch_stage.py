"""Stages that are modules of PyTorch, which runs them eagerly on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ttc.compiler.training_keywords import in_mode
from ttc.dialects.core.errors import Error, nearest
from ttc.marks.readings import reading_at
from ttc.pipeline.failures import named_failures
from ttc.pipeline.rates import StageRates
from ttc.pipeline.stage import Arrays, Cotangents, check_parameters, tensor
from ttc.train.host import taken

_DRAWING = Lock()
"""Held while a stage draws from PyTorch's one generator in training, whose state each stage has for itself."""


class TorchStage:
    """A module of PyTorch as a stage; its own parameters are trained, in place.

    Args:
        rates: of the optimizer; None: parameters are not updated.
        taps: names of modules in it whose outputs are kept.
        seed: of what it draws in training.
        number: of the stage, as readings of probes say it.
    """

    def __init__(
        self, name: str, module: torch.nn.Module, rates: StageRates | None = None, taps: Sequence[str] = (), seed: int = 0, number: int = 0
    ) -> None:
        self.name = name
        self._number = number
        self.module = module
        self._rates = rates
        self._mode = [(part, part.training) for part in module.modules()]
        self._held: dict[int, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
        self._tapped: dict[str, NDArray[Any]] = {}
        self._hooks = [self._tap(tap) for tap in taps]
        self._training: bool | None = None
        self._draws = torch.Generator().manual_seed(seed).get_state()
        self._kept: tuple[dict[str, torch.Tensor], torch.Tensor] | None = None
        for parameter in self._trained().values():
            parameter.grad = None

    @property
    def is_trained(self) -> bool:
        """Whether the stage has parameters that have gradients."""
        return bool(self._trained())

    def outputs_for(self, inputs: Arrays) -> Arrays:
        """Compute outputs in evaluation, to learn what they are like; nothing changes."""
        with in_mode(self.module, False), torch.no_grad():
            return tuple(_array(value) for value in self._called([tensor(x) for x in inputs]))

    # ---- microbatches --------------------------------------------------------------------------------------------------------------

    def forward(self, number: int, inputs: Arrays, *, training: bool) -> Arrays:
        """Compute the outputs of a microbatch; in training its graph is held for `backward`."""
        self._set_mode(training)
        leaves = [tensor(x) for x in inputs]
        if not training:
            with torch.no_grad(), reading_at(microbatch=number, stage=self._number):
                return tuple(_array(value) for value in self._called(leaves))
        self._keep()
        for leaf in leaves:
            leaf.requires_grad_(leaf.is_floating_point())
        with self._drawing(), reading_at(microbatch=number, stage=self._number):
            outputs = self._called(leaves)
        self._held[number] = (leaves, list(outputs))
        return tuple(_array(value) for value in outputs)

    def backward(self, number: int, cotangents: Cotangents) -> Cotangents:
        """Add the gradients of a microbatch to those of the parameters, and return those of its inputs."""
        leaves, outputs = self._held.pop(number)
        pairs = [(y, tensor(dy).to(y.dtype)) for y, dy in zip(outputs, cotangents, strict=True) if dy is not None and y.requires_grad]
        if not pairs:
            return tuple(_gradient(leaf) for leaf in leaves)
        with named_failures(self.name, self.module), reading_at(microbatch=number, stage=self._number):
            torch.autograd.backward([y for y, _ in pairs], [dy for _, dy in pairs])
        return tuple(_gradient(leaf) for leaf in leaves)

    def gradients(self, divisor: float) -> dict[str, NDArray[Any]]:
        """Return copies of the accumulated gradients by parameter, divided; of those that have none, zeros."""
        found = self._trained().items()
        return {name: _array(torch.zeros_like(p) if p.grad is None else p.grad / divisor) for name, p in found}

    def update(self, divisor: float) -> None:
        """Divide the accumulated gradients, let the optimizer update the parameters, and forget the gradients."""
        for parameter in self._trained().values():
            if parameter.grad is not None:
                parameter.grad.div_(divisor)
        if self._rates is not None:
            self._rates.set_rates()
            self._rates.optimizer.step()
        self._clear()

    def clear_gradients(self) -> None:
        """Set accumulated gradients to zero; held microbatches stay."""
        for parameter in self._trained().values():
            parameter.grad = None

    def forget(self) -> None:
        """Forget held microbatches and gradients; buffers and random numbers are again what they were after the last update."""
        self._held.clear()
        if self._kept is not None:
            buffers, self._draws = self._kept
            with torch.no_grad():
                for name, buffer in self.module.named_buffers():
                    buffer.copy_(buffers[name])
        self._clear()

    def step_schedule(self, total: int) -> None:
        """Go on to the learning rate that comes next of so many in all."""
        if self._rates is not None:
            self._rates.step(total)

    # ---- values --------------------------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of the parameters by name."""
        return {name: _array(parameter) for name, parameter in self.module.named_parameters()}

    def buffers(self) -> dict[str, NDArray[Any]]:
        """Return nothing: buffers are the module's own."""
        return {}

    def set_parameters(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Write values into the parameters.  Raises E0801 for unknown names and other shapes; then nothing has changed."""
        known = dict(self.module.named_parameters())
        check_parameters(self.name, values, {name: tuple(p.shape) for name, p in known.items()})
        with torch.no_grad():
            for name, value in values.items():
                known[name].copy_(tensor(value))

    def taps(self) -> dict[str, NDArray[Any]]:
        """Return outputs of modules that are tapped, as the last forward pass had them."""
        return dict(self._tapped)

    def check(self) -> None:
        """Do nothing: the stage runs in this process."""

    def close(self) -> None:
        """Give the modules back the mode that they had, and let go of gradients."""
        for hook in self._hooks:
            hook.remove()
        self._held.clear()
        for part, mode in self._mode:
            part.training = mode

    # ---- inside --------------------------------------------------------------------------------------------------------------------

    def _called(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Return what the module gives for copies of inputs: a copy is no leaf, so that modules may write to it.  Raises E0801, E0813."""
        with named_failures(self.name, self.module):
            return _flat(self.module(*(x.clone() for x in inputs)), self.name)

    def _trained(self) -> dict[str, torch.nn.Parameter]:
        return {name: p for name, p in self.module.named_parameters() if p.requires_grad}

    def _set_mode(self, training: bool) -> None:
        if self._training != training:
            self._training = training
            self.module.train(training)

    def _keep(self) -> None:
        """Keep what `forget` goes back to."""
        if self._kept is None:
            self._kept = {name: buffer.clone() for name, buffer in self.module.named_buffers()}, self._draws

    def _clear(self) -> None:
        self._kept = None
        self.clear_gradients()

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Draw what this stage draws next, whatever other threads do."""
        with _DRAWING:
            outside = torch.get_rng_state()
            torch.set_rng_state(self._draws)
            try:
                yield
            finally:
                self._draws = torch.get_rng_state()
                torch.set_rng_state(outside)

    def _tap(self, name: str) -> Any:
        known = dict(self.module.named_modules())
        if name not in known or not name:
            raise Error("E0206", f"stage '{self.name}' has no module '{name[:80]}' to tap", hint=nearest(name, [n for n in known if n]))

        def keep(_module: Any, _inputs: Any, output: Any) -> None:
            self._tapped[name] = _array(_flat(output, self.name)[0])

        return known[name].register_forward_hook(keep)


def _array(value: torch.Tensor) -> NDArray[Any]:
    """Return a copy of a tensor that nobody else writes to."""
    return np.array(taken(value.detach()), order="C", copy=True)


def _gradient(leaf: torch.Tensor) -> NDArray[Any] | None:
    if not leaf.requires_grad:
        return None
    return _array(torch.zeros_like(leaf) if leaf.grad is None else leaf.grad)


def _flat(outputs: Any, stage: str) -> tuple[torch.Tensor, ...]:
    """Return the tensors that a module gives.  Raises E0801 for anything else."""
    if isinstance(outputs, torch.Tensor):
        return (outputs,)
    found = tuple(outputs.values()) if isinstance(outputs, Mapping) else tuple(outputs) if isinstance(outputs, list | tuple) else ()
    if not found or not all(isinstance(value, torch.Tensor) for value in found):
        raise Error("E0801", f"stage '{stage}' gives a {type(outputs).__name__}", hint="stages give a tensor, or several of them")
    return found
