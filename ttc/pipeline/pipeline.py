"""`ttc.Pipeline`: a model in stages on devices, one thread or process each, or all in the caller's thread, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.pipeline.arguments import at_least, known_word, positive
from ttc.pipeline.board import Board
from ttc.pipeline.building import SharedSettings, build, check_optimizer, check_taps, chunks_of, plans_of
from ttc.pipeline.flow import Flow
from ttc.pipeline.intake import Intake
from ttc.pipeline.lifetime import shut_at_exit
from ttc.pipeline.losses import head_of
from ttc.pipeline.orders import StageWork, forward_only, order_of
from ttc.pipeline.queues import Queue, Sink, put_into
from ttc.pipeline.remote import threads_of_each
from ttc.pipeline.runs import LINK_ROOM, Links
from ttc.pipeline.stage import Arrays, tensor
from ttc.pipeline.timeline import check_filled
from ttc.pipeline.verified import Verdict, Verify
from ttc.pipeline.whole import Whole, is_whole, pairs_of
from ttc.train.host import HostModel, taken

MODES = ("sequential", "threads", "processes")
"""The ways in which stages run: all in the caller's thread, each in a thread of its own, or each compiled one in a process of its own, too.
"""


class Pipeline:
    """A model in stages, each on a device.  What is pushed at once is one microbatch; all have the shapes of the first.

    Nothing is compiled before the first run, which takes the first microbatch for its example.  A run that fails drops what was pushed,
    and changes no parameter.  Use it as a context manager, or call `shutdown`.

    Args:
        stages: pairs of a device (`ttc.Device`, or its place) and a module: of PyTorch, Keras or `ttc.nn`, or the path of a model, of IR
            text or of an archive.  On the device `cpu` modules of PyTorch run eagerly.  Outputs of a stage are the inputs of the next.
            Or one module of PyTorch, which is cut: with `devices`, one a stage, and `plan` as `ttc.cut` takes it.
        loss: of the last stage: "mse", `ttc.losses.*`, a module of torch.nn, a function of outputs and targets that PyTorch computes, or
            "output" where the last stage gives it; None: the pipeline is for inference.
        optimizer: of stages whose devices have none: text, `ttc.optim.*`, or a function that makes one of torch.optim of parameters.
        scheduler: of learning rates, as `ttc train` takes them, or a function that makes one of torch of an optimizer of torch.
        mode: sequential, threads or processes; the numbers are the same.
        schedule: 1f1b, gpipe, sequential, or interleaved, where devices come in turns.
        room: inputs, targets and results that may wait.
        patience: seconds for which calls wait while nothing moves.
        clip_norm: bounds the norm of the gradients of all stages together.
        taps: names of ops by stage whose values go to `intermediates`.
        verify: "torch" or "golden", or a Verify: stages are compared with a reference after every step, in `verdicts`.
        seed: of what modules of PyTorch draw in training.
        forward_queues, backward_queues: get what passes from each stage to the next, and back.
        strict: whether values of a model that is cut that flow back, and fewer microbatches than stages, are errors; else warnings.
    Raises: E0101 for options that do not go together.
    """

    def __init__(
        self,
        stages: Iterable[Any] | Any,
        *,
        devices: Sequence[Any] | None = None,
        plan: Mapping[str, int] | None = None,
        strict: bool = False,
        loss: Any = None,
        optimizer: Any = None,
        scheduler: Any = None,
        mode: str = "sequential",
        schedule: str = "1f1b",
        room: int | None = 1024,
        patience: float = 0.9,
        clip_norm: float | None = None,
        taps: Mapping[str, Sequence[str]] | None = None,
        verify: Any = None,
        seed: int = 0,
        forward_queues: Sequence[Sink | None] = (),
        backward_queues: Sequence[Sink | None] = (),
    ) -> None:
        self._plans = plans_of(pairs_of(stages, devices, plan))
        self._whole = Whole(stages, plan, strict, loss is not None) if is_whole(stages) else None
        self._strict = strict
        self._mode = known_word(mode, MODES, "mode")
        self._schedule = schedule
        self._clip_norm = None if clip_norm is None else positive(clip_norm, "clip_norm")
        self._head = None if loss is None else head_of(loss, self._plans[-1].device)
        check_optimizer(self._plans, optimizer, scheduler, trained=loss is not None)
        self._devices = len({id(plan.device) for plan in self._plans}) if schedule == "interleaved" else len(self._plans)
        self._chunks = chunks_of(self._plans, self._devices)
        order_of(schedule, self._devices, self._devices, self._chunks)
        processes = sum(not plan.device.is_cpu for plan in self._plans)
        threads = threads_of_each(processes) if self._mode == "processes" else None
        self._taps = check_taps(taps or {}, self._plans)
        self._settings = SharedSettings(loss is not None, optimizer, scheduler, self._taps, Verify.of(verify), seed, threads)
        board = self._board = Board(positive(patience, "patience"))
        self._intake = Intake(board, self._plans[0], self._head, room)
        self.inputs, self.targets = self._intake.inputs, self._intake.targets
        """Microbatches that were pushed, and not taken yet."""
        self.outputs: Queue[Any] = Queue(board, "outputs", room)
        """Outputs of runs in inference that were given no queue."""
        self.losses: Queue[float] = Queue(board, "losses")
        """The loss of each update, over all its rows."""
        self.checkpoints: Queue[dict[str, dict[str, NDArray[Any]]]] = Queue(board, "checkpoints")
        """Parameters by stage and name, as they were when they were asked for."""
        self.intermediates: Queue[dict[str, dict[str, NDArray[Any]]]] = Queue(board, "intermediates")
        """Values of taps by stage and name, of each microbatch."""
        self.verdicts: list[Verdict] = []
        """All comparisons with references."""
        names = [plan.name for plan in self._plans]
        self._links = Links(board, names, None if self._mode == "sequential" else LINK_ROOM, forward_queues, backward_queues)
        self._flow: Flow | None = None
        shut_at_exit(self)

    @property
    def stages(self) -> list[str]:
        """The names of the stages, in order."""
        return [plan.name for plan in self._plans]

    # ---- pushing -------------------------------------------------------------------------------------------------------------------

    def push(self, *inputs: Any, timeout: float | None = None, **named: Any) -> None:
        """Push the inputs of one microbatch: arrays or tensors in order, one mapping of them by name, or keywords.

        Args:   timeout: seconds to wait for room at most; None: for as long as something moves.
        Raises: E0801 for other shapes or types than those of the first; E0804 where there stays no room; what has ended a run.
        """
        self._intake.push(inputs, named, timeout)

    def push_target(self, *targets: Any, timeout: float | None = None) -> None:
        """Push what the loss of one microbatch takes beside the outputs.  Raises as `push` does, and E0101 if the loss takes none."""
        self._intake.push_target(targets, timeout)

    # ---- inference -----------------------------------------------------------------------------------------------------------------

    def run_inference(self, count: int | None = None, queue: Sink | None = None, *, inputs: Sequence[Any] = ()) -> Any:
        """Take microbatches through the stages, and give the queue that outputs go to.

        With threads or processes this returns at once, and outputs come as inputs are pushed; `wait` and every other run wait for the end.

        Args:
            count: microbatches; default: 1, or as many as there are inputs here; 0: without end, until `wait` or another run.
            queue: for outputs: one array a microbatch, or a tuple of several; default: `outputs`.
            inputs: microbatches to push now: an array, or a tuple or mapping of them, each.
        Raises: E0101 for a count that does not fit; E0804 where inputs or room are lacking; what stages raise.
        """
        count = (len(inputs) or 1) if count is None else count
        if count < 0 or (inputs and count != len(inputs)):
            raise Error("E0101", f"{count} microbatches are asked for, and {len(inputs)} are given", hint="leave out the count")
        sink = self.outputs if queue is None else queue
        if self._mode == "sequential":
            self._in_one_thread(count, sink, inputs)
            return sink
        for number, microbatch in enumerate(inputs):
            self._push_one(microbatch)
            if number == 0:
                self.ready().start(count, lambda arrays: self._give(sink, arrays))
        if not inputs:
            self.ready().start(count, lambda arrays: self._give(sink, arrays))
        return sink

    def _in_one_thread(self, count: int, sink: Sink, inputs: Sequence[Any]) -> None:
        if count == 0:
            raise Error("E0101", "with one thread inference cannot run without end", hint="take mode threads or processes")
        if not inputs:
            self._intake.require_inputs(count)
        for number in range(count):
            if inputs:
                self._push_one(inputs[number])
            self.ready().run(forward_only(len(self._plans), 1), training=False, outputs=lambda arrays: self._give(sink, arrays))

    def _push_one(self, microbatch: Any) -> None:
        if isinstance(microbatch, tuple | list):
            self.push(*microbatch)
        else:
            self.push(microbatch)

    def _give(self, sink: Sink, arrays: Arrays) -> None:
        put_into(sink, self._as_given(arrays), self._board, "outputs")

    def _as_given(self, arrays: Arrays) -> Any:
        """Return outputs as the user wants them: tensors where tensors were pushed; one, or a tuple."""
        found = tuple(tensor(array) for array in arrays) if self._intake.in_torch else arrays
        return found[0] if len(found) == 1 else found

    def wait(self) -> None:
        """Wait until inference in the background is done with what was pushed.  Raises what has ended it, and E0804 if nothing moves."""
        if self._flow is not None:
            self._flow.settle()

    # ---- training ------------------------------------------------------------------------------------------------------------------

    def forward(self, count: int = 1) -> list[Any]:
        """Take microbatches forward in training, and return the outputs of each; `backward` takes them back.

        Raises: E0101 without a loss, or for a count below 1; E0804 for fewer inputs; what stages raise.
        """
        self._require_loss()
        at_least(count, 1, "count")
        if self._mode == "sequential":
            self._intake.require_inputs(count)
        found: list[Any] = []
        self.ready().run(forward_only(len(self._plans), count), training=True, outputs=lambda arrays: found.append(self._as_given(arrays)))
        return found

    def backward(self, count: int = 1) -> float:
        """Take so many of the microbatches back that went forward first, and return their loss.

        Gradients are added to those that are there.  Raises as `forward` does, and E0804 if fewer have gone forward.
        """
        self._require_loss()
        flow = self.ready()
        if at_least(count, 1, "count") > flow.waiting:
            raise Error("E0804", f"{flow.waiting} microbatches have gone forward, and not back; {count} are asked for", hint="call forward")
        if self._mode == "sequential":
            self._intake.require_targets(count)
        last = len(self._plans) - 1
        order = tuple(tuple(StageWork(stage, True, number) for number in range(count)) for stage in range(last + 1))
        return flow.run(order, training=True, outputs=_dropped).mean

    def update(self, *, checkpoint: bool = False) -> float:
        """Update all parameters by the accumulated gradients of the loss over all rows since the last update, and return that loss.

        Args:   checkpoint: whether the new parameters go to `checkpoints`.
        Raises: E0801 if there are no gradients, or microbatches have not gone back; what stages raise.
        """
        self._require_loss()
        flow = self.ready()
        loss = flow.loss.value
        if flow.waiting:
            raise Error("E0801", f"{flow.waiting} microbatches have gone forward, and not back", hint="call backward")
        flow.update(loss.divisor if self._clip_norm is None else flow.clipping_divisor(self._clip_norm))
        if checkpoint:
            put_into(self.checkpoints, self.parameters(), self._board, "checkpoints")
        return loss.mean

    def clear(self, *, waiting: bool = True) -> None:
        """Forget accumulated gradients, and with `waiting` microbatches that have not gone back.  Raises what a stage raises."""
        if self._flow is not None:
            self._flow.settle()
            self._flow.forget() if waiting else self._flow.clear_gradients()

    def step_schedules(self, total: int = 1) -> None:
        """Go on to the next learning rate of all stages.  total: steps of the schedule in all, which some depend on."""
        for stage in self.ready().stages:
            stage.step_schedule(total)

    def step(self, accumulate: int = 1, microbatches: int = 1, outputs: Callable[[Arrays], None] | None = None) -> float:
        """Make one update in the order of the schedule, and return its loss; one that fails changes nothing.

        Args:   outputs: is called with those of each microbatch, in order.
        Raises: as `run_training` does.
        """
        flow = self.ready()
        if flow.waiting or not flow.loss.is_empty:
            raise Error("E0801", "there are gradients of other microbatches", hint="call update or clear")
        order = order_of(self._schedule, self._devices, microbatches, self._chunks)
        for _ in range(accumulate):
            flow.run(order, training=True, outputs=outputs or _dropped)
        return self.update()

    def run_training(
        self,
        epochs: int = 1,
        steps: int = 1,
        accumulate: int = 1,
        microbatches: int = 1,
        *,
        checkpoint_interval: int = 0,
        schedule_every: str = "epoch",
        checkpoints: Sink | None = None,
        losses: Sink | None = None,
    ) -> Any:
        """Make `epochs` times `steps` updates, and give the queue of checkpoints, the last of which has the final parameters.

        Each update takes `accumulate` times `microbatches` microbatches, of inputs and of targets; so many are on their way at once as
        `microbatches` says.

        Args:
            checkpoint_interval: updates between two checkpoints; 0: there is one at the end alone.
            schedule_every: epoch or update: when learning rates go on.
            checkpoints, losses: queues for them; default: those of the pipeline.
        Raises: E0101 for numbers below 1 and for pipelines without a loss, E0804 where too few microbatches were pushed, or queues are full
            and nothing moves, and what stages raise: the update that fails changes nothing.
        """
        self._require_loss()
        for name, value in (("epochs", epochs), ("steps", steps), ("accumulate", accumulate), ("microbatches", microbatches)):
            at_least(value, 1, name)
        at_least(checkpoint_interval, 0, "checkpoint_interval")
        known_word(schedule_every, ("epoch", "update"), "schedule_every")
        check_filled(order_of(self._schedule, self._devices, microbatches, self._chunks), strict=self._strict)
        if self._mode == "sequential":
            self._intake.require_inputs(epochs * steps * accumulate * microbatches)
            self._intake.require_targets(epochs * steps * accumulate * microbatches)
        sink = self.checkpoints if checkpoints is None else checkpoints
        taken_at, total = -1, epochs if schedule_every == "epoch" else epochs * steps
        for number in range(epochs * steps):
            loss = self.step(accumulate, microbatches)
            put_into(self.losses if losses is None else losses, loss, self._board, "losses")
            if schedule_every == "update" or (number + 1) % steps == 0:
                self.step_schedules(total)
            if checkpoint_interval and (number + 1) % checkpoint_interval == 0:
                put_into(sink, self.parameters(), self._board, "checkpoints")
                taken_at = number
        if taken_at != epochs * steps - 1:
            put_into(sink, self.parameters(), self._board, "checkpoints")
        return sink

    # ---- values --------------------------------------------------------------------------------------------------------------------

    def gradients(self, stage: str | None = None) -> dict[str, Any]:
        """Return copies of the gradients of all rows since the last update: by stage and parameter, or of one stage by parameter.

        Raises: E0801 if there are none, E0206 for an unknown stage.
        """
        return self.ready().gradients(stage)

    def parameters(self, stage: str | None = None) -> dict[str, Any]:
        """Return copies of the parameters: by stage and name, or of one stage by name.  Raises E0206 for an unknown stage."""
        return self.ready().of(stage, lambda which: which.parameters())

    def set_parameters(self, values: Mapping[str, Any], stage: str | None = None) -> None:
        """Give parameters new values: by stage and name, or of one stage by name.

        Raises: E0206 for an unknown stage, E0801 for unknown parameters, and other shapes: then those of that stage have not changed.
        """
        flow = self.ready()
        flow.settle()
        given = {flow.named(name): of_stage for name, of_stage in (values if stage is None else {stage: values}).items()}
        for which, of_stage in given.items():
            which.set_parameters({name: taken(value) for name, value in of_stage.items()})

    def pull_weights(self) -> None:
        """Write parameters and running statistics of compiled stages into the modules of PyTorch that they were made of."""
        flow = self.ready()
        flow.settle()
        for plan, stage in zip(self._plans, flow.stages, strict=True):
            if hasattr(plan.module, "named_parameters"):
                HostModel(plan.module).write({**stage.parameters(), **stage.buffers()})

    # ---- start and end -------------------------------------------------------------------------------------------------------------

    def compile(self, *inputs: Any) -> None:
        """Make the stages now, for inputs like these; default: like those that were pushed.  Raises what compiling raises."""
        self._board.require_open()
        if inputs:
            self.ready(self._intake.like_the_first("input", inputs))
        else:
            self.ready()

    def shutdown(self) -> None:
        """End threads and processes, and give up all memory; whoever waits gets E0803.  Modules of PyTorch keep their parameters."""
        self._board.close()
        if self._flow is not None:
            self._flow.close()
        self._intake.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.shutdown()

    def ready(self, examples: Arrays | None = None) -> Flow:
        """Return the stages, made now if they are not.  Raises E0804 if there is nothing to make them for."""
        self._board.require_open()
        if self._flow is not None:
            return self._flow
        examples = examples or self.inputs.peek()
        if examples is None:
            raise Error("E0804", "no inputs were pushed: there is nothing to compile the stages for", hint="push a microbatch first")
        if self._whole is not None:
            self._plans = self._whole.cut(self._plans, examples)
        stages = build(self._plans, self._settings, examples, self.verdicts.append)
        self._flow = Flow(
            self._board,
            stages,
            self._links,
            self._intake,
            head=self._head,
            threaded=self._mode != "sequential",
            taps=self._settings.taps,
            tapped=self.intermediates.put,
        )
        return self._flow

    # ---- checks --------------------------------------------------------------------------------------------------------------------

    def _require_loss(self) -> None:
        if self._head is None:
            hint = 'give Pipeline a loss: loss="mse", or a module of torch.nn'
            raise Error("E0101", "the last stage has no loss: the pipeline cannot be trained", hint=hint)


def _dropped(_arrays: Arrays) -> None:
    """Take outputs that nobody wants."""
