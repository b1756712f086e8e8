"""What `ttc.inference` gives: a model that runs on any number of rows, with the newest weights there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.marks.readings import show_outputs
from ttc.runtime.arguments import inputs_of
from ttc.runtime.machine.session import Session
from ttc.train.host import HostModel, taken
from ttc.train.instances import Instances
from ttc.train.newest import newest
from ttc.train.outputs import OutputMode
from ttc.train.rows import Rows, parts, rows_of, turns
from ttc.train.shapes import Shape, shapes_of
from ttc.train.signatures import CompiledByCalls, signature_of
from ttc.train.updates import FORWARD, MARKED_LOSS
from ttc.train.weights import ModuleWeights

Build = Callable[["tuple[Any, ...] | None"], Instances]
"""Compiles the model for example inputs of a microbatch (None: for shapes that it has itself), with a session for each replica."""


class InferenceExecutor(CompiledByCalls[Instances]):
    """Runs a model on rows.  One thread may use it at a time.

    Weights are those of the executor that trains the same module, as they are at every call; without one they are the module's own when
    it was compiled, until `push_weights`.

    Args:
        model: a `torch.nn.Module`, whose arrays are tensors, or a file, whose arrays are numpy's.
        build: compiles the model.
        ready: whether it is compiled now, for its own shapes alone.
        rows: how those of a call are divided.
        output: which outputs calls give.
        recompile: `again` or `error`, for calls of other shapes.
    """

    def __init__(
        self,
        model: Any,
        build: Build,
        *,
        ready: bool = False,
        rows: Rows = Rows(),  # noqa: B008 - a frozen record
        output: OutputMode = OutputMode("all"),  # noqa: B008
        recompile: str = "again",
    ) -> None:
        super().__init__(recompile, lambda instances: instances.close())
        self._model = model
        self._host = HostModel(model)
        self._synced = ModuleWeights(self._host)
        self._build = build
        self._rows = rows
        self._output = output
        self._instances: Instances | None = None
        self._examples: tuple[Any, ...] | None = None
        self._key: tuple[Any, ...] = ()
        self._ready_made = ready
        self._seen = 0
        if ready:
            self._use(self._known.get((), self._compiled))

    def __call__(self, *arrays: Any) -> Any:
        """Run the model.

        Args:    arrays: inputs, with rows along their first dimension; those without dimensions are the same for all rows.
        Returns: the outputs asked for: one, or a tuple of several or none.
        Raises:  E0801 for arrays that do not fit, with what their rows must be a multiple of; E0803 once it is closed.
        """
        if self._closed:
            raise Error("E0803", "the executor is closed")
        values = [taken(array) for array in arrays]
        fitted, count = self._divided().fitted({str(i): value for i, value in enumerate(values)})
        rows = self._divided().of_call(rows_of(fitted))
        instances = self._for(list(fitted.values()), rows.pieces)
        self._refresh()
        names = [argument.name for argument in inputs_of(self.session.entry(FORWARD))]
        if len(names) != len(values):
            raise Error("E0801", f"the model takes {len(names)} arrays, not {len(values)}", hint=f"in order: {', '.join(names)}")
        named = dict(zip(names, fitted.values(), strict=True))
        together: list[list[list[NDArray[Any]]]] = []
        for number, turn in enumerate(instances.run(turn for part in parts(named, rows.iterations) for turn in turns(part, rows))):
            shown = [show_outputs(one, microbatch=number, replica=replica) for replica, one in enumerate(turn)]
            together.append([[value for name, value in one.items() if name != MARKED_LOSS] for one in shown])
        own = [together[first : first + rows.accumulate] for first in range(0, len(together), rows.accumulate)]
        return self._given([turn[replica] for iteration in own for replica in range(rows.replicas) for turn in iteration], count, rows)

    def _given(self, found: list[list[NDArray[Any]]], count: int, rows: Rows) -> Any:
        """Return the outputs as the user wants them, without those of rows that were filled up."""
        chosen = self._output.chosen(found, rows)
        if rows.partial == "pad":
            batch = [len(array) if array.ndim else 0 for array in found[0]]
            chosen = tuple(x[:count] if n and len(x) == n * rows.pieces > count else x for x, n in zip(chosen, batch, strict=True))
        given = tuple(self._host.given(array) for array in chosen)
        return given[0] if len(given) == 1 else given

    def output_shapes(self, *arrays: Any) -> tuple[Shape, ...]:
        """Tell the shapes of the outputs that a call of these arrays would give; nothing is run or compiled.

        Raises: E0801 for rows that do not divide; E0202 where PyTorch cannot tell.
        """
        fitted, count = self._divided().fitted({str(i): taken(array) for i, array in enumerate(arrays)})
        rows = self._divided().of_call(rows_of(fitted))
        inputs = [self._host.given(x) for x in next(parts(fitted, rows.pieces)).values()]
        program = None if self._instances is None else self._instances.sessions[0].entry(FORWARD)
        own = shapes_of(self._model, inputs, program, self._output.count(rows))
        return tuple((min(shape[0], count), *shape[1:]) if shape and self._rows.partial == "pad" else shape for shape in own)

    def align(self, labels: Any) -> Any:
        """Return the labels of the rows whose outputs calls give, in the order of these.

        Raises: E0101 where outputs are sums, means or none; E0801 for rows that do not divide.
        """
        return self._output.aligned(labels, self._divided())

    def push_weights(self) -> None:
        """Take all parameters and buffers of the module as they are now.  Raises E0101 for a model of a file, E0803 as `session` does."""
        for session in self._running().sessions:
            self._synced.overwrite(session)

    @property
    def session(self) -> Session:
        """The memory, and the program that runs on it: those of the first replica.  Raises E0803 before the first call, and once closed."""
        return self._running().sessions[0]

    # ---- inside -----------------------------------------------------------------------------------------------------------------------

    def _running(self) -> Instances:
        if self._instances is None or self._closed:
            raise Error("E0803", "the model is not compiled yet, or the executor is closed", hint="the first call compiles it")
        return self._instances

    def _divided(self) -> Rows:
        """Return how rows are divided, with those of a microbatch where the program has them."""
        if not self._ready_made or self._instances is None:
            return self._rows
        return replace(
            self._rows, batch=next((argument.shape[0] for argument in inputs_of(self.session.entry(FORWARD)) if argument.shape), None)
        )

    def _for(self, inputs: list[NDArray[Any]], pieces: int) -> Instances:
        """Return what runs a program for inputs that are so many microbatches; compiled now, if it is not."""
        if not self._ready_made:
            key = signature_of(inputs, pieces)
            if key != self._key or self._instances is None:
                self._examples = tuple(self._host.given(x[: len(x) // pieces].copy() if x.ndim else x) for x in inputs)
                self._use(self._known.get(key, self._compiled))
                self._key = key
        return self._running()

    def _compiled(self) -> Instances:
        return self._build(self._examples)

    def _use(self, instances: Instances) -> None:
        if instances is self._instances:
            return
        sessions = instances.sessions
        if self._instances is not None:
            values, known = self._instances.sessions[0].parameters(), sessions[0].description.parameters
            for session in sessions:
                session.assign({name: value for name, value in values.items() if name in known})
        elif self._host.is_module:
            own = sessions[0].parameters()  # copies: until then sessions read the module's own memory, which its user may change
            for session in sessions:
                session.assign(own)
            self._synced.are_the_same(sessions[0])
        self._instances = instances

    def _refresh(self) -> None:
        """Take the weights of the executor that trains the module, if they are newer."""
        trained = newest(self._model)
        if trained is None or self._instances is None:
            self._synced.warn_of_changes()
        elif trained.version > self._seen:
            values, known = trained.weights(), self.session.description.parameters
            for session in self._instances.sessions:
                session.assign({name: value for name, value in values.items() if name in known})
            self._seen = trained.version
