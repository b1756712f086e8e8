"""The stages of a pipeline as executors over rows have a model: one session, whose variables are those of all stages, and its updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Program as Entry
from ttc.optim import is_torch_optimizer
from ttc.pipeline.compiled_stage import CompiledStage
from ttc.pipeline.pipeline import Pipeline
from ttc.runtime.arguments import inputs_of, outputs_of
from ttc.runtime.manifest import Description, Training
from ttc.train.host import taken
from ttc.train.rows import parts, rows_of
from ttc.train.updates import FORWARD, LOSS_COUNT, Outcome

TARGET = "target"
"""The name of what a loss takes beside the outputs."""


class StagesSession:
    """The variables of all stages under the names that they have in the model, read and written as those of a session.

    Args:
        stages: of one model, each compiled.
        training: what its programs are trained with; None: they are for inference.
        count: tells what accumulated gradients are divided by.
    """

    def __init__(self, stages: Sequence[CompiledStage], training: Training | None, count: Callable[[], float]) -> None:
        self._stages, self._count = stages, count
        found = [stage.program.description for stage in reversed(stages)]
        parameters = {name: value for one in found for name, value in one.parameters.items()}
        states = {name: value for one in found for name, value in one.states.items()}
        self.description: Description = replace(found[-1], parameters=parameters, states=states, derived=(), training=training)

    def entry(self, name: str) -> Entry:
        """Return what the program of that name takes of the first stage and gives of the last, without instructions."""
        first, last = self._stages[0].program.entry(FORWARD), self._stages[-1].program.entry(FORWARD)
        given = tuple(result for result in outputs_of(last) if result.name in self._stages[-1].outputs)
        return Entry(name, tuple(inputs_of(first)), given, ())

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of all parameters by name."""
        return {name: value for stage in reversed(self._stages) for name, value in stage.session.parameters().items()}

    def states(self, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return copies of states by name; None: all."""
        wanted = self.description.states if names is None else [name for name in names if name in self.description.states]
        found: dict[str, NDArray[Any]] = {}
        for stage in reversed(self._stages):
            own = [name for name in wanted if name in stage.program.description.states]
            found.update(stage.session.states(own) if own else {})
        if LOSS_COUNT in found:
            found[LOSS_COUNT] = np.asarray(self._count(), found[LOSS_COUNT].dtype)
        return {name: found[name] for name in wanted}

    def assign(self, parameters: Mapping[str, NDArray[Any]], states: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Give parameters and states new values, each in all stages that have it.  Raises E0801 and E0802 as a session does."""
        known = {**self.description.parameters, **self.description.states}
        for name in (*parameters, *(states or {})):
            if name not in known:
                raise Error("E0801", f"no stage has a parameter or state '{name[:80]}'")
        for stage in self._stages:
            own = stage.program.description
            ours = {name: value for name, value in parameters.items() if name in own.parameters}
            kept = {name: value for name, value in (states or {}).items() if name in own.states}
            if ours or kept:
                stage.session.assign(ours, kept)


class StagedUpdates:
    """Updates of a model in stages, as `ttc.train.replicas.Replicas` makes those of a whole one.

    Replicas of a pipeline take turns on its devices: an update takes the microbatches of all, one replica's after another's.

    Args:
        pipeline: of the model, with a loss and without anything pushed.
        examples: inputs of one microbatch.
        optimizer: as `ttc.training` takes it, of which the pipeline was given `StageOptimizers.of_stages`.
        targets: how many arrays the loss takes besides.
        replicas: that share the rows of an update.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        examples: Sequence[Any],
        optimizer: StageOptimizers | None,
        *,
        targets: int,
        replicas: int,
    ) -> None:
        self._pipeline, self._optimizer = pipeline, optimizer
        self._replicas = replicas
        self._flow = pipeline.ready(tuple(np.ascontiguousarray(taken(value)) for value in examples))
        stages = cast("list[CompiledStage]", self._flow.stages)
        first = stages[0].program.description.training
        assert first is not None
        self.returned = [TARGET][:targets]
        """Names of what `accumulate` takes beside the model's inputs."""
        self.training = replace(
            first, inputs=tuple(stages[0].inputs), outputs=tuple(stages[-1].outputs), loss="mean", targets=tuple(self.returned), hyper={}
        )
        self.batch = int(first.batch or 1)
        self.session = StagesSession(stages, self.training, lambda: 0.0 if self._flow.loss.is_empty else self._flow.loss.value.divisor)

    @property
    def first(self) -> StagedUpdates:
        """The maker of single updates: these updates themselves."""
        return self

    def update(self, rows: Mapping[str, NDArray[Any]], hyper: Mapping[str, float], *, separate: bool) -> list[list[Outcome]]:
        """Update the parameters by the gradients of the loss over all rows; an update that fails changes nothing.

        Returns: for each replica the outcomes of its microbatches.
        Raises:  as `Pipeline.run_training` does.
        """
        self._tell_rates()
        microbatches = rows_of(rows) // self.batch
        outputs: list[dict[str, NDArray[Any]]] = []
        try:
            for part in parts(rows, microbatches):
                self._push(part)
            self._pipeline.step(1, microbatches, lambda arrays: outputs.append(self._named(arrays)))
        except BaseException:
            self._pipeline.inputs.get_all()
            self._pipeline.targets.get_all()
            raise
        found = self._outcomes(outputs)
        own = microbatches // self._replicas
        return [found[first : first + own] for first in range(0, microbatches, own)]

    def forward(self, inputs: Mapping[str, NDArray[Any]]) -> Outcome:
        """Return the model's outputs for a microbatch, in training.  Raises E0801 where one has gone forward already, and not back."""
        if self._flow.waiting:
            raise Error("E0801", "a microbatch has gone forward, and not back", hint="call backward(); stages hold what it reads")
        self._pipeline.push(*inputs.values())
        (found,) = self._pipeline.forward(1)
        found = found if isinstance(found, tuple) else (found,)
        return Outcome(0.0, 0.0, [self._named(tuple(taken(value) for value in found))])

    def accumulate(self, rows: Mapping[str, NDArray[Any]]) -> Outcome:
        """Add the gradients of the microbatch that `forward` had to what is accumulated."""
        if self.returned:
            self._pipeline.push_target(*(rows[name] for name in self.returned))
        self._pipeline.backward(1)
        return Outcome.sum(self._outcomes([{}]))

    def apply(self, hyper: Mapping[str, Any]) -> None:
        """Update the parameters by what is accumulated."""
        self._tell_rates()
        self._pipeline.update()

    def use_optimizer(self, optimizer: Any) -> None:
        """Take the numbers of another optimizer of the same structure."""
        if self._optimizer is not None:
            self._optimizer.whole = optimizer
            if not is_torch_optimizer(optimizer):
                for stage in cast("list[CompiledStage]", self._flow.stages):
                    stage.use_optimizer(optimizer)

    def spread(self) -> None:
        """Do nothing: all replicas have the same weights."""

    def close(self) -> None:
        """Give up the memory of all stages, and end threads and processes."""
        self._pipeline.shutdown()

    def _tell_rates(self) -> None:
        if self._optimizer is not None:
            self._optimizer.tell()

    def _push(self, rows: Mapping[str, NDArray[Any]]) -> None:
        self._pipeline.push(*(rows[name] for name in self.training.inputs))
        if self.returned:
            self._pipeline.push_target(*(rows[name] for name in self.returned))

    def _named(self, arrays: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return dict(zip(self.training.outputs, arrays, strict=True))

    def _outcomes(self, outputs: Sequence[dict[str, NDArray[Any]]]) -> list[Outcome]:
        """Return the losses of the microbatches that went back last, with the outputs of each."""
        pairs = zip(self._flow.values, outputs, strict=True)
        return [Outcome(value.total, value.count or 0.0, [own], is_mean=value.count is not None) for value, own in pairs]


class StageOptimizers:
    """Optimizers of stages that have the numbers which one optimizer of the whole model has.

    Args:   whole: an instance of torch.optim over the model's parameters, text, or a record of `ttc.optim`.
    """

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self._parts: list[tuple[Any, list[int]]] = []

    @property
    def of_stages(self) -> Any:
        """Return the optimizers that a pipeline takes for its stages."""
        return self._part if is_torch_optimizer(self.whole) else self.whole

    def _part(self, parameters: Iterable[Any]) -> Any:
        """Return an optimizer of the same class over some parameters, with the settings of their groups."""
        own = {id(parameter) for parameter in parameters}
        groups = [
            (number, {**group, "params": [p for p in group["params"] if id(p) in own]})
            for number, group in enumerate(self.whole.param_groups)
        ]
        groups = [(number, group) for number, group in groups if group["params"]]
        made = object.__new__(type(self.whole))
        made.__dict__ = {**self.whole.__dict__, "param_groups": [group for _, group in groups], "state": {}}
        self._parts.append((made, [number for number, _ in groups]))
        return made

    def tell(self) -> None:
        """Give stages the numbers that the optimizer has now."""
        for made, numbers in self._parts:
            for group, number in zip(made.param_groups, numbers, strict=True):
                group.update({name: value for name, value in self.whole.param_groups[number].items() if name != "params"})
