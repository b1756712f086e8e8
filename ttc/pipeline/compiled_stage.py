"""Stages that are compiled: a training program whose loss is elsewhere, or a program of inference, in a session of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels.probe import OUTPUT
from ttc.marks.readings import show_outputs
from ttc.passes.nn.training_notes import SAVED
from ttc.pipeline.rates import StageRates
from ttc.pipeline.stage import Arrays, Cotangents, check_count, check_parameters
from ttc.runtime.arguments import inputs_of, outputs_of
from ttc.runtime.program import Program
from ttc.train.updates import BACKWARD, EVALUATE, FORWARD, GRADIENT, LOSS_COUNT, OPTIMIZER, SLOT


class Runs(Protocol):
    """A session, in this process or another."""

    def call(self, name: str, inputs: Mapping[str, Any], *, keep: int | None = None, take: int | None = None) -> dict[str, NDArray[Any]]:
        """Run a program once; see `KeepingSession.call`."""
        ...

    def drop(self) -> None:
        """Give up all that is kept of microbatches."""
        ...

    def states(self, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return copies of states by name."""
        ...

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of parameters by name."""
        ...

    def assign(self, parameters: Mapping[str, NDArray[Any]], states: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Give parameters and states new values."""
        ...

    def close(self) -> None:
        """Give up all that the session holds."""
        ...


class CompiledStage:
    """A compiled program as a stage.  In training its session keeps what gradients read of each microbatch that is on its way.

    Args:
        number: of the stage, as readings of probes say it.
        model: that it was compiled from.
        session: on the program, which nobody else uses.
        rates: of the optimizer; None: parameters are not updated.
        taps: names of its outputs that are kept, too.
        added: those among them that are no outputs of the stage.
    """

    def __init__(
        self,
        name: str,
        number: int,
        model: Any,
        program: Program,
        session: Runs,
        rates: StageRates | None,
        taps: Sequence[str] = (),
        added: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._number = number
        self._model = model
        self.session = session
        self._rates = rates
        self.program = program
        self._description = program.description
        self._training = program.description.training
        entry = program.entry(FORWARD)
        self.inputs = [argument.name for argument in inputs_of(entry)]
        aside = (*added, *(result.name for result in outputs_of(entry) if result.name.startswith((SAVED, OUTPUT))))
        self.outputs = [result.name for result in outputs_of(entry) if result.name not in aside]
        self._taps = list(taps)
        self._tapped: dict[str, NDArray[Any]] = {}
        self._cotangents = []
        if self._training is not None:
            self._cotangents = [a for a in inputs_of(program.entry(BACKWARD)) if not a.name.startswith(SAVED)]
        known = self._description.states
        self._sums = [name for name in known if name.startswith(GRADIENT)]
        self._changing = [name for name in known if not name.startswith((GRADIENT, SLOT)) and name != LOSS_COUNT]
        self._updates = OPTIMIZER in program.netlists.surface.programs
        self._kept: dict[str, NDArray[Any]] | None = None

    @property
    def is_trained(self) -> bool:
        """Whether the stage has parameters that have gradients."""
        return bool(self._sums)

    def outputs_for(self, inputs: Arrays) -> Arrays:
        """Compute outputs in evaluation, to learn what they are like; nothing changes."""
        before = self.buffers() if self._training is None else {}
        found = self._chosen(self._inferred(inputs))
        if before:
            self.session.assign({}, before)
        return found

    # ---- microbatches --------------------------------------------------------------------------------------------------------------

    def forward(self, number: int, inputs: Arrays, *, training: bool) -> Arrays:
        """Compute the outputs of a microbatch; in training the session keeps what `backward` needs."""
        if not training:
            found = self._inferred(inputs)
        else:
            if self._kept is None:
                self._kept = self.session.states(self._changing) if self._changing else {}
            found = self._run(FORWARD, self._named(inputs), keep=number)
        show_outputs(found, microbatch=number, stage=self._number)
        self._tapped = {name: found[name] for name in self._taps if name in found}
        return self._chosen(found)

    def backward(self, number: int, cotangents: Cotangents) -> Cotangents:
        """Add the gradients of a microbatch to what is accumulated, and return those of its inputs."""
        by_name = dict(zip(self.outputs, cotangents, strict=True))
        given: dict[str, NDArray[Any]] = {}
        for argument in self._cotangents:
            value = by_name.get(argument.name.removeprefix(GRADIENT))
            dtype = np.dtype(argument.dtype)
            given[argument.name] = np.zeros(argument.shape, dtype) if value is None else np.asarray(value, dtype, order="C")
        found = self._run(BACKWARD, given, take=number)
        show_outputs(found, microbatch=number, stage=self._number)
        return tuple(found.get(f"{GRADIENT}{name}") for name in self.inputs)

    def gradients(self, divisor: float) -> dict[str, NDArray[Any]]:
        """Return copies of the accumulated gradients by parameter, divided."""
        found = self.session.states(self._sums)
        return {name.removeprefix(GRADIENT): value / value.dtype.type(divisor) for name, value in found.items()}

    def update(self, divisor: float) -> None:
        """Update the parameters by the accumulated gradients, divided, and forget these."""
        self._kept = None
        if not self._updates or self._training is None:
            self._clear()
            return
        numbers = dict(self._training.hyper) if self._rates is None else self._rates.hyper(self._model, self._training)
        self.session.assign({}, {LOSS_COUNT: np.array(divisor, np.float32)})
        self._run(OPTIMIZER, {name: np.array(value, np.float32) for name, value in numbers.items()})

    def clear_gradients(self) -> None:
        """Set accumulated gradients to zero; held microbatches stay."""
        self._clear()

    def forget(self) -> None:
        """Forget held microbatches and gradients; states are again what they were after the last update."""
        self.session.drop()
        if self._kept:
            self.session.assign({}, self._kept)
        self._kept = None
        self._clear()

    def use_optimizer(self, optimizer: Any) -> None:
        """Take the numbers of another optimizer of the same structure."""
        if self._rates is not None:
            self._rates.optimizer = optimizer

    def step_schedule(self, total: int) -> None:
        """Go on to the learning rate that comes next of so many in all."""
        if self._rates is not None:
            self._rates.step(total)

    # ---- values --------------------------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of the parameters by name, without those that only derived tensors are stored of."""
        return self.session.parameters()

    def buffers(self) -> dict[str, NDArray[Any]]:
        """Return copies of the states that forward passes change, such as running statistics, by name."""
        return self.session.states(self._changing) if self._changing else {}

    def set_parameters(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Give parameters new values.  Raises E0801; then nothing has changed."""
        check_parameters(self.name, values, {name: v.shape for name, v in self._description.parameters.items()})
        known = self._description.parameters
        self.session.assign({name: np.asarray(value, np.dtype(known[name].dtype), order="C") for name, value in values.items()})

    def taps(self) -> dict[str, NDArray[Any]]:
        """Return values of ops that are tapped, as the last forward pass had them."""
        return dict(self._tapped)

    def check(self) -> None:
        """Raise E0811 if the process that the stage runs in has ended."""
        check = getattr(self.session, "check", None)
        if check is not None:
            check()

    def close(self) -> None:
        """Give up memory, and the process that the stage runs in."""
        self.session.close()

    # ---- inside --------------------------------------------------------------------------------------------------------------------

    def _inferred(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        return self._run(FORWARD if self._training is None else EVALUATE, self._named(inputs))

    def _named(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        check_count(self.name, inputs, len(self.inputs))
        return dict(zip(self.inputs, inputs, strict=True))

    def _chosen(self, found: Mapping[str, NDArray[Any]]) -> Arrays:
        return tuple(found[name] for name in self.outputs)

    def _run(self, entry: str, inputs: Mapping[str, NDArray[Any]], **kept: int) -> dict[str, NDArray[Any]]:
        try:
            return self.session.call(entry, inputs, **kept)
        except Error as error:
            raise error.at(f"stage '{self.name}'") from None

    def _clear(self) -> None:
        names = [*self._sums, *([LOSS_COUNT] if LOSS_COUNT in self._description.states else [])]
        if names:
            self.session.assign({}, {name: np.zeros_like(value) for name, value in self.session.states(names).items()})
