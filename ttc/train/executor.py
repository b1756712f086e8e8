"""What `ttc.training` gives: a model that trains, row by row or step by step, on a session of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, warn
from ttc.runtime.arguments import inputs_of
from ttc.runtime.machine.session import Session
from ttc.runtime.program import Program
from ttc.train.host import Host, digest, taken
from ttc.train.outputs import OutputMode
from ttc.train.rates import gathered_of, hyper_of, is_stepped, structure_of
from ttc.train.updates import BACKWARD, GRADIENT, LOSS_COUNT, SLOT, Outcome, Updates, training_of

LOSS_SCALE = "loss_scale.scale"
"""The state by which the accumulated gradients are too large."""
Build = Callable[[Any, tuple[Any, ...] | None], Program]
"""Compiles the model with an optimizer for example inputs of a microbatch; None: for shapes that it has itself."""


class TrainingExecutor:
    """Trains a model.  Called with inputs and targets it does one or several updates; `forward`, `backward` and `update` do one in steps.

    Learning rates and other numbers of the optimizer are read at every call.  The model's own parameters keep their values until
    `pull_weights` writes to them.  One thread may use it at a time.

    Args:
        model: a `torch.nn.Module`, whose arrays are tensors, or a file, whose arrays are numpy's.
        optimizer: as `build` takes it; one of `torch.optim` may be changed and stepped by schedulers at any time.
        build: compiles the model.
        targets: how many arrays the loss takes besides.
        ready: whether it is compiled now, and not with the first call.
        accumulate: microbatches of an update.
        iterations: updates of a call.
        output: which outputs calls give.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        build: Build,
        *,
        targets: int = 1,
        ready: bool = False,
        accumulate: int = 1,
        iterations: int = 1,
        output: OutputMode = OutputMode("all"),  # noqa: B008 - a frozen record
    ) -> None:
        self._model = model
        self._host = Host(model)
        self._optimizer = optimizer
        self._build = build
        self._targets = targets
        self._examples: tuple[Any, ...] | None = None
        self._accumulate = accumulate
        self._iterations = iterations
        self._output = output
        self._updates: Updates | None = None
        self._synced: dict[str, bytes] = {}
        self._version: tuple[int, ...] = ()
        self._inputs: dict[str, NDArray[Any]] | None = None
        self._accumulated = 0
        self._closed = False
        self.losses: NDArray[np.float32] = np.zeros(0, np.float32)
        """The loss of each update of the last call."""
        if ready:
            self._compile()

    # ---- whole updates ----------------------------------------------------------------------------------------------------------------

    def __call__(self, *arrays: Any) -> tuple[Any, Any]:
        """Update the parameters.

        Args:    arrays: the model's inputs, then the loss's targets; rows along their first dimension, the same number of each.
        Returns: the outputs asked for: one, or a tuple of several or none; and the loss of all rows.
        Raises:  E0801 for arrays that do not fit, with what their rows must be a multiple of; as `Session.call` does: the update that
                 fails changes nothing.
        """
        values = [taken(array) for array in arrays]
        updates = self._ready(values[: len(values) - self._targets], self._iterations * self._accumulate)
        given = self._named(values, [*updates.training.inputs, *updates.training.targets])
        size = self._rows_of_an_update(given, updates)
        self._warn_of_changes()
        hyper = self._hyper(updates)
        found: list[Outcome] = []
        for number in range(self._iterations):
            part = {name: value[number * size : (number + 1) * size] for name, value in given.items()}
            found.append(updates.update(part, hyper))
            self._accumulated = 0
        self.losses = np.array([outcome.loss for outcome in found], np.float32)
        return self._given(found, updates), self._host.given(np.asarray(Outcome.sum(found).loss, np.float32))

    def _rows_of_an_update(self, given: Mapping[str, NDArray[Any]], updates: Updates) -> int:
        """Raises E0801 if inputs have different numbers of rows, or these are not those of whole updates."""
        counts = {name: len(value) if value.ndim else 0 for name, value in given.items()}
        rows, first = next(iter(counts.values())), next(iter(counts))
        for name, count in counts.items():
            if count != rows:
                raise Error("E0801", f"'{first}' has {rows} rows, and '{name}' {count}")
        multiple = self._iterations * updates.batch
        if rows < 1 or rows % multiple:
            near = max(rows // multiple, 1) * multiple
            message = f"{rows} rows are no multiple of {multiple}: {self._iterations} updates of microbatches of {updates.batch} rows"
            raise Error("E0801", message, hint=f"the next sizes are {near} and {near + multiple}")
        return rows // self._iterations

    def _given(self, found: list[Outcome], updates: Updates) -> Any:
        """The outputs as the user wants them: a fused step's are taken apart into those of microbatches."""
        microbatches: list[list[NDArray[Any]]] = []
        for outputs in (part for outcome in found for part in outcome.outputs):
            arrays = list(outputs.values())
            count = max((len(array) // updates.batch for array in arrays if array.ndim), default=1)
            for number in range(count):
                rows = slice(number * updates.batch, (number + 1) * updates.batch)
                microbatches.append([array[rows] if array.ndim and count > 1 else array for array in arrays])
        chosen = tuple(self._host.given(array) for array in self._output.chosen(microbatches))
        return chosen[0] if len(chosen) == 1 else chosen

    # ---- an update in steps -----------------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any) -> Any:
        """The model's outputs for a microbatch, in training; nothing changes.  Its inputs are kept for `backward`.  Raises E0801."""
        values = [taken(array) for array in inputs]
        updates = self._ready(values, 1)
        self._inputs = {name: value.copy() for name, value in self._named(values, updates.training.inputs).items()}
        self._warn_of_changes()
        outputs = tuple(self._host.given(array) for array in updates.forward(self._inputs).outputs[0].values())
        return outputs[0] if len(outputs) == 1 else outputs

    def backward(self, *targets: Any) -> Any:
        """Add the gradients of the microbatch that `forward` had to what is accumulated; gives the loss of its rows.

        Args:   targets: of the loss; where there is no loss, gradients of the outputs: then None is given.
        Raises: E0801 if `forward` was not called since the last time, or for arrays that do not fit.
        """
        if self._inputs is None or self._updates is None:
            raise Error("E0801", "there are no inputs to go back to", hint="call forward() first, once for each backward()")
        updates, inputs = self._updates, self._inputs
        names = [a.name for a in inputs_of(self.session.entry(BACKWARD)) if a.name not in inputs]
        found = updates.accumulate({**inputs, **self._named([taken(target) for target in targets], names)})
        self._inputs, self._accumulated = None, self._accumulated + 1
        return None if updates.training.loss is None else self._host.given(np.asarray(found.loss, np.float32))

    def update(self) -> None:
        """Update the parameters by the accumulated gradients, and forget these.  Raises E0801 if there are none."""
        updates = self._with_gradients()
        updates.apply(self._hyper(updates))
        self._accumulated = 0

    def grads(self) -> dict[str, Any]:
        """The accumulated gradients of the loss of all rows since the last update, by parameter.  Raises E0801 if there are none.

        A call of the executor leaves none: its update is fused, and its gradients are never whole in memory.
        """
        updates = self._with_gradients()
        known = self.session.program.description.states
        chosen = [name for name in known if name.startswith(GRADIENT) or name in (LOSS_COUNT, LOSS_SCALE)]
        states = self.session.states(chosen)
        count = float(states.pop(LOSS_COUNT, np.float32(1))) if updates.training.reduction == "mean" else 1.0
        factor = 1 / (max(count, 1e-30) * float(states.pop(LOSS_SCALE, np.float32(1))))
        grads = {name: value for name, value in states.items() if name.startswith(GRADIENT)}
        return {name.removeprefix(GRADIENT): self._host.given(value * value.dtype.type(factor)) for name, value in grads.items()}

    def _with_gradients(self) -> Updates:
        if self._updates is None or not self._accumulated:
            raise Error("E0801", "there are no accumulated gradients", hint="call forward() and backward() first")
        return self._updates

    # ---- optimizer and weights --------------------------------------------------------------------------------------------------------

    @property
    def optimizer(self) -> Any:
        """The optimizer.  Another one may be assigned; what it keeps of parameters stays if it is of the same kind."""
        return self._optimizer

    @optimizer.setter
    def optimizer(self, optimizer: Any) -> None:
        before = self._optimizer
        same = self._updates is None or structure_of(before, self._model) == structure_of(optimizer, self._model)
        self._optimizer = optimizer
        if same:
            return
        try:
            self._compile()
        except BaseException:
            self._optimizer = before
            raise

    def pull_weights(self) -> None:
        """Write parameters and buffers into the module's own tensors, where training has changed them.

        Raises: E0809 if the module's were changed, too, since they were last the same; E0101 for a model of a file.
        """
        here, there = self._differences()
        if here and there:
            raise self._both(here)
        self._host.write(here)
        if not there:
            self._are_the_same()

    def push_weights(self) -> None:
        """Take parameters and buffers of the module, where they were changed on the host.

        Raises: E0809 if training has changed them, too, since they were last the same; E0101 for a model of a file.
        """
        here, there = self._differences()
        if here and there:
            raise self._both(there)
        if there:
            parameters = self.session.program.description.parameters
            self.session.assign(
                {name: value for name, value in there.items() if name in parameters},
                {name: value for name, value in there.items() if name not in parameters},
            )
        if not here:
            self._are_the_same()

    def _both(self, names: Mapping[str, Any]) -> Error:
        hint = "load_state_dict() sets those here; assigning to the module's sets those there"
        return Error("E0809", f"weights were changed by training and on the host: {', '.join(list(names)[:3])}", hint=hint)

    def _weights(self) -> dict[str, NDArray[Any]]:
        """What the session has of the module's tensors."""
        names = self._host.read({**self.session.program.description.parameters, **self.session.program.description.states})
        found = {**self.session.parameters(), **self.session.states()}
        return {name: value for name, value in found.items() if name in names}

    def _differences(self) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """What has changed here, and on the host, since both were the same; without what is the same again."""
        here = self._weights() if self._host.is_module else {}
        there = self._host.read(here)
        mark_here, mark_there = digest(here), digest(there)
        names = [name for name in here if mark_here[name] != mark_there[name]]
        of_training = {name: here[name] for name in names if mark_here[name] != self._synced.get(name)}
        return of_training, {name: there[name] for name in names if mark_there[name] != self._synced.get(name)}

    def _are_the_same(self) -> None:
        self._synced = digest(self._weights())
        self._version = self._host.version()

    def _warn_of_changes(self) -> None:
        if self._version != self._host.version():
            self._version = self._host.version()
            warn("parameters of the module were changed on the host; push_weights() takes them, and nothing else does")

    # ---- the session ------------------------------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The memory, and the programs that run on it.  Raises E0803 before the first call, and once it is closed."""
        if self._updates is None or self._closed:
            hint = None if self._closed else "the first call compiles it; or give example_inputs"
            raise Error("E0803", "the executor is closed" if self._closed else "the model is not compiled yet", hint=hint)
        return self._updates.session

    def state_dict(self) -> dict[str, Any]:
        """Copies of all parameters and states by name, those of the optimizer among them."""
        return {name: self._host.given(value) for name, value in {**self.session.parameters(), **self.session.states()}.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take what `state_dict` gave.  Raises E0801 for a missing or unknown name, or what does not fit; then nothing has changed."""
        description = self.session.program.description
        missing = [name for name in {**self.session.parameters(), **description.states} if name not in state]
        if missing:
            raise Error("E0801", f"the state lacks {', '.join(missing[:3])}")
        values = {name: taken(value) for name, value in state.items()}
        states = {name: values.pop(name) for name in description.states}
        self.session.assign(values, states)

    def close(self) -> None:
        """Give up the session's memory; further calls raise E0803."""
        if self._updates is not None:
            self._updates.session.close()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # ---- inside -----------------------------------------------------------------------------------------------------------------------

    def _ready(self, inputs: list[NDArray[Any]], pieces: int) -> Updates:
        """The programs; compiled now, if they are not, for inputs that are so many microbatches.  Raises E0801 if they cannot be."""
        if self._closed:
            raise Error("E0803", "the executor is closed")
        if self._updates is None:
            rows = len(inputs[0]) if inputs and inputs[0].ndim else 0
            if rows < 1 or rows % pieces:
                message = f"{rows} rows are no multiple of {pieces}: {self._iterations} updates of {self._accumulate} microbatches"
                raise Error("E0801", message)
            self._examples = tuple(self._host.given(array[: rows // pieces].copy() if array.ndim else array) for array in inputs)
            self._compile()
        if self._updates is None:
            raise Error("E0901", "a model that was compiled has no programs")
        return self._updates

    def _compile(self) -> None:
        """Make the programs; parameters and states that there were before keep their values."""
        program = self._build(self._optimizer, self._examples)
        program.prepare()
        session = Session(program)
        updates, before = Updates(session, training_of(session)), self._updates
        same = False
        if before is not None:
            old = before.session
            same = before.training.optimizer == updates.training.optimizer
            known = {name: value for name, value in old.states().items() if same or not name.startswith(SLOT)}
            kept = {name: value for name, value in known.items() if _alike(name, value, program.description.states)}
            session.assign(old.parameters(), kept)
            old.close()
        gathered = gathered_of(self._optimizer, self._model)
        if gathered and (before is None or not same):
            session.assign({}, {name: value for name, value in gathered.items() if _alike(name, value, program.description.states)})
        self._updates, self._inputs = updates, None
        if before is None and self._host.is_module:
            self._are_the_same()

    def _hyper(self, updates: Updates) -> dict[str, float]:
        """Numbers of the optimizer as they are now; an update with them follows."""
        is_stepped(self._optimizer)
        return {} if self._optimizer is None else hyper_of(self._optimizer, self._model, updates.training)

    def _named(self, values: list[NDArray[Any]], names: Any) -> dict[str, NDArray[Any]]:
        """Arrays by the names of inputs, in order.  Raises E0801 for another number of them."""
        names = list(names)
        if len(values) != len(names):
            raise Error("E0801", f"the model takes {len(names)} arrays, not {len(values)}", hint=f"in order: {', '.join(names)}")
        return dict(zip(names, values, strict=True))


def _alike(name: str, value: NDArray[Any], states: Mapping[str, Any]) -> bool:
    """Whether there is a state of that name and shape."""
    return name in states and tuple(states[name].shape) == value.shape
