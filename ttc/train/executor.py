"""What `ttc.training` gives: a model that trains, row by row or step by step, on sessions of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.runtime.machine.session import Session
from ttc.train.host import HostModel, taken
from ttc.train.newest import has_changed
from ttc.train.outputs import OutputMode
from ttc.train.own_loss import owner_of
from ttc.train.rates import Numbers, gathered_of, is_stepped, structure_of
from ttc.train.repeated import RepeatedUpdate, repeated_update
from ttc.train.replicas import Trains
from ttc.train.rows import Rows, parts, rows_of
from ttc.train.shapes import Shape, shapes_of
from ttc.train.signatures import CompiledByCalls, signature_of
from ttc.train.updates import FORWARD, GRADIENT, LOSS_COUNT, SLOT, Outcome, Updates
from ttc.train.weights import ModuleWeights

LOSS_SCALE = "loss_scale.scale"
"""The name of the state by which the accumulated gradients are too large."""
Build = Callable[[Any, tuple[Any, ...] | None, bool], "Trains"]
"""Compiles the model with an optimizer, for example inputs of a microbatch (None: for shapes that it has itself), and for targets that are
numbers of floating point, or not."""


class TrainingExecutor(CompiledByCalls[Trains]):
    """Trains a model.  Called with inputs and targets it does one or several updates; `forward`, `backward` and `update` do one in steps.

    Learning rates and other numbers of the optimizer are read at every call.  The model's own parameters keep their values until
    `pull_weights` writes to them.  One thread may use it at a time.

    Args:
        model: a `torch.nn.Module`, whose arrays are tensors, or a file, whose arrays are numpy's.
        optimizer: as `build` takes it; one of `torch.optim` may be changed and stepped by schedulers at any time.
        build: compiles the model.
        targets: how many arrays the loss takes besides; None: there is no loss.
        ready: whether it is compiled now, for its own shapes alone, and not for those of calls.
        rows: how those of a call are divided.
        output: which outputs calls give.
        loss_rows: `mean`: calls give the loss of all rows; `output`: losses of microbatches, chosen as outputs are.
        recompile: `again` or `error`, for calls of other shapes.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        build: Build,
        *,
        targets: int | None = 1,
        ready: bool = False,
        rows: Rows = Rows(),  # noqa: B008 - a frozen record
        output: OutputMode = OutputMode("all"),  # noqa: B008
        loss_rows: str = "mean",
        recompile: str = "again",
    ) -> None:
        super().__init__(recompile, lambda made: made.close())
        self._model = model
        self._owner = owner_of(model)
        self._host = HostModel(model)
        self._synced = ModuleWeights(self._host)
        self._optimizer = optimizer
        self._build = build
        self._targets, self._has_loss = targets or 0, targets is not None
        self._ready_made = ready
        self._rows = rows
        self._output = output
        self._loss_rows = loss_rows
        self._replicas: Trains | None = None
        self._numbers = Numbers()
        self._examples: tuple[Any, ...] | None = None
        self._floating: bool | None = None
        self._key: tuple[Any, ...] = ()
        self._inputs: dict[str, NDArray[Any]] | None = None
        self._repeated: RepeatedUpdate | None = None
        self._accumulated = 0
        self.version = 0
        """Grows with every change of the weights."""
        self.losses: NDArray[np.float32] = np.zeros(0, np.float32)
        """The loss of each update of the last call; of each microbatch where losses are chosen as outputs are."""
        if ready:
            self._use(self._known.get((), self._compiled))

    # ---- whole updates ----------------------------------------------------------------------------------------------------------------

    def __call__(self, *arrays: Any) -> tuple[Any, Any]:
        """Update the parameters.

        Args:    arrays: the model's inputs, then the loss's targets; rows along their first dimension, the same number of each.
        Returns: the outputs asked for: one, or a tuple of several or none; and the loss of all rows, or losses chosen as outputs are.
        Raises:  E0101 where there is no loss; E0801 for arrays that do not fit, with what their rows must be a multiple of; as
                 `Session.call` does: the update that fails changes nothing.
        """
        if not self._has_loss:
            hint = "give loss=..., or call forward, then backward with gradients of the outputs, then update"
            raise Error("E0101", "a call trains by a loss, and there is none", hint=hint)
        if self._repeated is not None and not self._closed and (given := self._repeated.given(arrays)) is not None:
            return self._repeat(self._repeated, given)
        values, updates = self._fitting(arrays)
        rows = self._divided().of_call(max(len(value) for value in values if value.ndim))
        self._synced.warn_of_changes()
        assert self._replicas is not None
        hyper, separate = self._hyper(updates), self._loss_rows == "output"
        found: list[list[list[Outcome]]] = []
        for part in parts(self._named(values, updates), self._rows.iterations):
            found.append(self._replicas.update(part, hyper, separate=separate))
            self._accumulated = 0
            has_changed(self._owner, self)
        outcomes = [[outcome for own in one for outcome in own] for one in found]
        flat = [outcome for one in outcomes for outcome in one]
        self.losses = np.array([x.loss for x in flat] if separate else [Outcome.sum(one).loss for one in outcomes], np.float32)
        loss = self._chosen_losses(rows) if separate else np.asarray(Outcome.sum(flat).loss, np.float32)
        if rows.iterations == 1 and not separate and self._output.name == "all":
            self._repeated = repeated_update(self._replicas, arrays, len(next(value for value in values if value.ndim)))
        return self._given(flat, updates, rows), self._host.given(loss)

    def _repeat(self, repeated: RepeatedUpdate, given: dict[str, NDArray[Any]]) -> tuple[Any, Any]:
        """Do what a call does, by arrays that are like those of the call before."""
        self._synced.warn_of_changes()
        outcome = repeated.run(given, self._hyper(repeated.updates))
        self._accumulated = 0
        has_changed(self._owner, self)
        self.losses = np.array([outcome.loss], np.float32)
        outputs = tuple([self._host.given(array) for array in outcome.outputs[0].values()])
        return outputs[0] if len(outputs) == 1 else outputs, self._host.given(self.losses[0].reshape(()))

    def _chosen_losses(self, rows: Rows) -> NDArray[np.float32]:
        """Return the losses of microbatches that outputs are given of: one number for one microbatch, else one for each."""
        mode = OutputMode("last") if self._output.name == "loss" else self._output
        (found,) = mode.chosen([(loss,) for loss in self.losses], rows)
        return np.asarray(found, np.float32)

    def _given(self, found: list[Outcome], updates: Updates, rows: Rows) -> Any:
        """Return the outputs as the user wants them: a fused step's are taken apart into those of microbatches."""
        microbatches: list[list[NDArray[Any]]] = []
        for outputs in (part for outcome in found for part in outcome.outputs):
            arrays = list(outputs.values())
            count = max((len(array) // updates.batch for array in arrays if array.ndim), default=1)
            for number in range(count):
                own = slice(number * updates.batch, (number + 1) * updates.batch)
                microbatches.append([array[own] if array.ndim and count > 1 else array for array in arrays])
        chosen = tuple(self._host.given(array) for array in self._output.chosen(microbatches, rows))
        return chosen[0] if len(chosen) == 1 else chosen

    def output_shapes(self, *arrays: Any) -> tuple[tuple[Shape, ...], Shape]:
        """Tell the shapes of the outputs and of the loss that a call of these arrays would give; nothing is run or compiled.

        Raises: E0801 for rows that do not divide; E0101 for a file's model that is not compiled; E0202 where PyTorch cannot tell.
        """
        values = [taken(array) for array in arrays]
        named, count = self._divided().fitted({str(i): value for i, value in enumerate(values)})
        rows = self._divided().of_call(count)
        inputs = list(next(parts(named, rows.pieces)).values())[: len(values) - self._targets]
        program = None if self._replicas is None else self._replicas.first.session.entry(FORWARD)
        count = self._output.count(rows)
        losses = count if count > 1 else 0
        own = shapes_of(self._model, [self._host.given(x) for x in inputs], program, count)
        return own, (losses,) if self._loss_rows == "output" and losses else ()

    def align(self, labels: Any) -> Any:
        """Return the labels of the rows whose outputs calls give, in the order of these.

        Raises: E0101 where outputs are sums, means or none; E0801 for rows that do not divide.
        """
        return self._output.aligned(labels, self._divided())

    # ---- an update in steps -----------------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any) -> Any:
        """Return the model's outputs for a microbatch, in training; nothing changes.  Its inputs are kept for `backward`.  Raises E0801."""
        values = [taken(array) for array in inputs]
        updates = self._for(values, 1)
        self._inputs = {name: value.copy() for name, value in _named(values, updates.training.inputs).items()}
        self._synced.warn_of_changes()
        outputs = tuple(self._host.given(array) for array in updates.forward(self._inputs).outputs[0].values())
        return outputs[0] if len(outputs) == 1 else outputs

    def backward(self, *targets: Any) -> Any:
        """Add the gradients of the microbatch that `forward` had to what is accumulated; gives the loss of its rows.

        Args:   targets: of the loss; where there is no loss, gradients of the outputs: then None is given.
        Raises: E0801 if `forward` was not called since the last time, or for arrays that do not fit.
        """
        if self._inputs is None or self._replicas is None:
            raise Error("E0801", "there are no inputs to go back to", hint="call forward() first, once for each backward()")
        updates, inputs = self._replicas.first, self._inputs
        found = updates.accumulate({**inputs, **_named([taken(target) for target in targets], updates.returned)})
        self._inputs, self._accumulated = None, self._accumulated + 1
        return None if updates.training.loss is None else self._host.given(np.asarray(found.loss, np.float32))

    def update(self) -> None:
        """Update the parameters by the accumulated gradients, and forget these.  Raises E0801 if there are none."""
        updates = self._with_gradients()
        updates.apply(self._hyper(updates))
        self._accumulated = 0
        if self._replicas is not None:
            self._replicas.spread()
        has_changed(self._owner, self)

    def grads(self) -> dict[str, Any]:
        """Return the accumulated gradients of the loss of all rows since the last update, by parameter.  Raises E0801 if there are none.

        A call of the executor leaves none: its update is fused, and its gradients are never whole in memory.
        """
        updates = self._with_gradients()
        known = self.session.description.states
        chosen = [name for name in known if name.startswith(GRADIENT) or name in (LOSS_COUNT, LOSS_SCALE)]
        states = self.session.states(chosen)
        count = float(states.pop(LOSS_COUNT, np.float32(1))) if updates.training.reduction == "mean" else 1.0
        factor = 1 / (max(count, 1e-30) * float(states.pop(LOSS_SCALE, np.float32(1))))
        grads = {name: value for name, value in states.items() if name.startswith(GRADIENT)}
        return {name.removeprefix(GRADIENT): self._host.given(value * value.dtype.type(factor)) for name, value in grads.items()}

    def _with_gradients(self) -> Updates:
        if self._replicas is None or not self._accumulated:
            raise Error("E0801", "there are no accumulated gradients", hint="call forward() and backward() first")
        return self._replicas.first

    # ---- optimizer and weights --------------------------------------------------------------------------------------------------------

    @property
    def optimizer(self) -> Any:
        """The optimizer. Another one may be assigned; the states of parameters stay if it is of the same kind."""
        return self._optimizer

    @optimizer.setter
    def optimizer(self, optimizer: Any) -> None:
        before = self._optimizer
        same = self._replicas is None or structure_of(before, self._model) == structure_of(optimizer, self._model)
        self._optimizer = optimizer
        if same:
            if self._replicas is not None:
                self._replicas.use_optimizer(optimizer)
            return
        try:
            made = self._compiled()
        except BaseException:
            self._optimizer = before
            raise
        self._use(made)
        key = () if self._ready_made else self._key
        self._known.clear()  # programs with the optimizer before
        self._known.get(key, lambda: made)

    def pull_weights(self, *, overwrite: bool = False) -> None:
        """Write parameters and buffers into the module's own tensors, where training has changed them.

        Args:   overwrite: write all of them, whatever was changed on the host.
        Raises: E0809 if the module's were changed, too, since they were last the same; E0101 for a model of a file.
        """
        self._synced.pull(self.session, overwrite=overwrite)

    def push_weights(self, *, overwrite: bool = False) -> None:
        """Take parameters and buffers of the module, where they were changed on the host.

        Args:   overwrite: take all of them, whatever training has made of its own.
        Raises: E0809 if training has changed them, too, since they were last the same; E0101 for a model of a file.
        """
        (self._synced.overwrite if overwrite else self._synced.push)(self.session)
        self._changed()

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return copies of parameters and states by name, without gradients and the optimizer's states."""
        states = [x for x in self.session.description.states if not x.startswith((GRADIENT, SLOT)) and x != LOSS_COUNT]
        found = {**self.session.parameters(), **self.session.states(states)}
        return {name.removeprefix("model.") if self._owner is not self._model else name: value for name, value in found.items()}

    def _changed(self) -> None:
        if self._replicas is not None:
            self._replicas.spread()
        has_changed(self._owner, self)

    # ---- the session ------------------------------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The memory, and the programs that run on it.  Raises E0803 before the first call, and once it is closed."""
        if self._replicas is None or self._closed:
            hint = None if self._closed else "the first call compiles it; or give example_inputs"
            raise Error("E0803", "the executor is closed" if self._closed else "the model is not compiled yet", hint=hint)
        return self._replicas.first.session

    def state_dict(self) -> dict[str, Any]:
        """Return copies of all parameters and states by name, those of the optimizer among them."""
        return {name: self._host.given(value) for name, value in {**self.session.parameters(), **self.session.states()}.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take what `state_dict` gave.  Raises E0801 for a missing or unknown name, or what does not fit; then nothing has changed."""
        description = self.session.description
        missing = [name for name in {**self.session.parameters(), **description.states} if name not in state]
        if missing:
            raise Error("E0801", f"the state lacks {', '.join(missing[:3])}")
        values = {name: taken(value) for name, value in state.items()}
        states = {name: values.pop(name) for name in description.states}
        self.session.assign(values, states)
        self._changed()

    # ---- inside -----------------------------------------------------------------------------------------------------------------------

    def _divided(self) -> Rows:
        """Return how rows are divided, with those of a microbatch where the programs have them."""
        return replace(self._rows, batch=self._replicas.first.batch) if self._ready_made and self._replicas is not None else self._rows

    def _fitting(self, arrays: tuple[Any, ...]) -> tuple[list[NDArray[Any]], Updates]:
        """Return the arrays of a call, and the programs for them.  Raises E0801."""
        if self._closed:
            raise Error("E0803", "the executor is closed")
        values = [taken(array) for array in arrays]
        names = [*self._replicas.first.training.inputs, *self._replicas.first.training.targets] if self._replicas is not None else None
        named = _named(values, [f"array {i}" for i in range(len(values))] if names is None else names)
        found, count = self._divided().fitted(named)
        fitted = list(found.values())
        if self._floating is None:  # the first call says what targets are
            self._floating = any(value.dtype.kind == "f" for value in fitted[len(fitted) - self._targets :])
        return fitted, self._for(fitted[: len(fitted) - self._targets], self._divided().of_call(count).pieces)

    def _for(self, inputs: list[NDArray[Any]], pieces: int) -> Updates:
        """Return the programs for inputs that are so many microbatches; compiled now, if they are not."""
        if self._closed:
            raise Error("E0803", "the executor is closed")
        if not self._ready_made:
            rows_of({str(i): x for i, x in enumerate(inputs)})
            key = signature_of(inputs, pieces)
            if key == self._key and self._replicas is not None:
                return self._replicas.first
            examples = tuple(self._host.given(x[: len(x) // pieces].copy() if x.ndim else x) for x in inputs)
            before, self._examples = self._examples, examples
            try:
                found = self._known.get(key, self._compiled)
            except BaseException:
                self._examples = before
                raise
            self._key = key
            self._use(found)
        assert self._replicas is not None
        return self._replicas.first

    def _compiled(self) -> Trains:
        return self._build(self._optimizer, self._examples, bool(self._floating))

    def _use(self, made: Trains) -> None:
        """Go on with these programs; parameters and states that there were before keep their values."""
        before = self._replicas
        if made is before:
            return
        session, same = made.first.session, False
        description = session.description
        if before is not None:
            old = before.first.session
            same = before.first.training.optimizer == made.first.training.optimizer
            known = {name: value for name, value in old.states().items() if same or not name.startswith(SLOT)}
            session.assign(old.parameters(), {name: value for name, value in known.items() if _alike(name, value, description.states)})
        gathered = gathered_of(self._optimizer, self._model)
        if gathered and not same:
            session.assign({}, {name: value for name, value in gathered.items() if _alike(name, value, description.states)})
        self._replicas, self._inputs, self._repeated = made, None, None
        if before is not None and self._accumulated:
            return  # gradients went along
        made.spread()
        if before is None and self._host.is_module:
            self._synced.are_the_same(session)

    def _hyper(self, updates: Updates) -> dict[str, float]:
        """Return numbers of the optimizer as they are now; an update with them follows."""
        is_stepped(self._optimizer)
        return {} if self._optimizer is None else self._numbers.of(self._optimizer, self._model, updates.training)

    def _named(self, values: list[NDArray[Any]], updates: Updates) -> dict[str, NDArray[Any]]:
        return _named(values, [*updates.training.inputs, *updates.training.targets])


def _named(values: list[NDArray[Any]], names: Any) -> dict[str, NDArray[Any]]:
    """Return arrays by the names of inputs, in order.  Raises E0801 for another number of them."""
    names = list(names)
    if len(values) != len(names):
        raise Error("E0801", f"the model takes {len(names)} arrays, not {len(values)}", hint=f"in order: {', '.join(names)}")
    return dict(zip(names, values, strict=True))


def _alike(name: str, value: NDArray[Any], states: Mapping[str, Any]) -> bool:
    """Return whether there is a state of that name and shape."""
    return name in states and tuple(states[name].shape) == value.shape
