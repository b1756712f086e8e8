"""The module that scripts import as `poptorch`: its names in ttc's own; see the page "Coming from PopTorch"."""

from __future__ import annotations

from typing import Any

import torch

import ttc
from ttc.compat.names import Refusing, ignored, told
from ttc.compat.poptorch_blocks import BLOCKS
from ttc.compat.poptorch_calls import Nesting
from ttc.compat.poptorch_data import DATA
from ttc.compat.poptorch_names import REFUSED, REFUSED_OF_EXECUTORS
from ttc.compat.poptorch_ops import MODEL_OPS, printer
from ttc.compat.poptorch_optim import OPTIM
from ttc.compat.poptorch_options import NAMES, Options, OutputMode
from ttc.dialects.core.errors import Error
from ttc.marks.ops import mark_loss, probe
from ttc.marks.stages import stages_begun

AnchorMode = OutputMode


class PoplarExecutor:
    """An executor of ttc under the names of PopTorch; weights are written into the model after every call.

    Names that it does not have itself are those of the model.
    """

    def __init__(
        self, model: Any, executor: Any, options: Options, *, trains: bool = False, loss: bool = False, first: bool = False
    ) -> None:
        self.model, self.executor, self.options = model, executor, options
        self._trains, self._loss, self._first = trains, loss, first
        self._checked, self._nesting = False, Nesting(model)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model on the rows of a call: tensors, or tuples, lists and mappings of them; behind these the target of a loss.

        Raises: E0101 where stages have too few microbatches, and E0801 as executors do.
        """
        own, targets = (args[:-1], args[-1:]) if self._loss else (args, ())
        with self._nesting.flat(own, kwargs) as arrays:
            found = self.executor(*arrays, *targets)
        if not self._checked:
            self._check_stages()
        if not self._trains:
            return found
        self.copyWeightsToHost()
        return found if self._loss else found[0]

    def _check_stages(self) -> None:
        """Refuse pipelines that a call does not fill, as PopTorch does."""
        self._checked = True
        begun = stages_begun()
        begun = begun if begun[:1] == (0,) else (0, *begun)  # what stands before the first annotation
        count = len(begun) if self.options.strategy.increments else len(set(begun))
        if count == 1 or self._first or isinstance(self.options.strategy, NAMES["ShardedExecution"]):
            return
        have = self.options.Training.accumulation if self._trains else self.options.iterations
        need = 2 * count - 1 if self._trains else count
        if have < need:
            what = "gradientAccumulation" if self._trains else "deviceIterations"
            self.executor.close()
            message = f"{what} must be greater than or equal to the number of pipeline stages ({need}), and is {have}"
            raise Error("E0101", message, hint="poptorch.ShardedExecution() needs no more than 1; ttc.training takes any")

    def copyWeightsToHost(self) -> None:
        """Call `pull_weights` of the executor.  Raises E0803 before the first call."""
        if self._trains:
            self.executor.pull_weights(overwrite=True)

    def copyWeightsToDevice(self) -> None:
        """Call `push_weights` of the executor.  Raises E0803 before the first call."""
        self.executor.push_weights(**({"overwrite": True} if self._trains else {}))

    def load_state_dict(self, state: Any, strict: bool = True) -> Any:
        """Load parameters into the model, and into the executor once it is compiled."""
        found = self.model.load_state_dict(state, strict)
        if self._checked:
            self.copyWeightsToDevice()
        return found

    def setOptimizer(self, optimizer: Any) -> None:
        """Assign `optimizer`, whose numbers are read at every call anyway.  Raises E0105 for another max_grad_norm."""
        told("poptorch setOptimizer", "executor.optimizer = ...; changed learning rates need no call")
        if getattr(optimizer, "max_grad_norm", None) != getattr(self.executor.optimizer, "max_grad_norm", None):
            raise Error("E0105", "another max_grad_norm is not supported: programs are compiled for one", hint="make another trainingModel")
        self.executor.optimizer = optimizer

    def compile(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing: the first call compiles."""
        ignored("PoplarExecutor.compile", "the first call compiles")

    def isCompiled(self) -> bool:
        """Return whether there was a call."""
        return self._checked

    def attachToDevice(self) -> None:
        """Do nothing: no device is held."""

    detachFromDevice = attachToDevice

    def isAttachedToDevice(self) -> bool:
        """Return whether there was a call."""
        return self._checked

    def destroy(self) -> None:
        """Call `close` of the executor."""
        self.executor.close()

    def __getattr__(self, name: str) -> Any:
        if name == "model" or name in REFUSED_OF_EXECUTORS:
            Refusing("PoplarExecutor", REFUSED_OF_EXECUTORS)(name)
        return getattr(self.model, name)


def _options(first: Any, options: Options | None, accumulation: Any, replicas: int) -> Options:
    """Return the options of both forms: those of the later one, or numbers."""
    if isinstance(first, Options) or options is not None:
        return options or first
    made = Options().deviceIterations(first or 1).replicationFactor(replicas)
    made.Training.gradientAccumulation(accumulation)
    return made


def trainingModel(
    model: Any,
    device_iterations: Any = None,
    gradient_accumulation: Any = 1,
    replication_factor: int = 1,
    profile: bool = False,
    trace_model: bool = True,
    loss: Any = None,
    optimizer: Any = None,
    options: Options | None = None,
) -> PoplarExecutor:
    """Return `ttc.training` of a model, given numbers and a loss, or Options, an optimizer and a loss inside the model."""
    told("poptorch.trainingModel", "ttc.training")
    _without_effect(profile, trace_model)
    model = model.model if isinstance(model, PoplarExecutor) else model
    if hasattr(gradient_accumulation, "param_groups"):  # the later form's third argument
        optimizer, gradient_accumulation = gradient_accumulation, 1
    found = _options(device_iterations, options, gradient_accumulation, replication_factor)
    chosen = torch.optim.SGD(model.parameters(), lr=0.01) if optimizer is None else optimizer
    clip = {"clip_norm": norm} if (norm := getattr(chosen, "max_grad_norm", None)) is not None else {}
    executor = ttc.training(model, loss="output" if loss is None else loss, optimizer=chosen, **found.fields(training=True), **clip)
    first = options is None and not isinstance(device_iterations, Options)
    return PoplarExecutor(model, executor, found, trains=True, loss=loss is not None, first=first)


def inferenceModel(
    model: Any,
    device_iterations: Any = None,
    replication_factor: int = 1,
    profile: bool = False,
    trace_model: bool = True,
    options: Options | None = None,
) -> PoplarExecutor:
    """Return `ttc.inference` of a model, given numbers or Options. Raises E0101 for options that accumulate gradients."""
    told("poptorch.inferenceModel", "ttc.inference")
    _without_effect(profile, trace_model)
    model = model.model if isinstance(model, PoplarExecutor) else model
    found = _options(device_iterations, options, 1, replication_factor)
    if found.Training.accumulation != 1:
        message = "You must set Options().Training.gradientAccumulation to 1 when running an inferenceModel. Use deviceIterations"
        raise Error("E0101", message)
    first = options is None and not isinstance(device_iterations, Options)
    return PoplarExecutor(model, ttc.inference(model, **found.fields(training=False)), found, first=first)


def _without_effect(profile: bool, trace_model: bool) -> None:
    """Say of two arguments of the first form that they change nothing."""
    if profile:
        ignored("profile", "`ttc run --profile` and `ttc perf` tell where time goes")
    if not trace_model:
        ignored("trace_model", "every model is exported by PyTorch")


def ipu_print_tensor(tensor: Any, title: str = "", print_gradient: bool = True, **formatting: Any) -> Any:
    """Call `ttc.probe`, which prints in the given format. Raises E0101 for an unknown setting of it."""
    return probe(tensor, title or "ipu_print_tensor", sink=printer(print_gradient=print_gradient, **formatting))


identity_loss = mark_loss
UnrecoverableError = RecoverableError = Error


optim = OPTIM
SUBMODULES = {"optim": OPTIM}
globals().update(NAMES)
globals().update(BLOCKS)
globals().update(DATA)
globals().update(MODEL_OPS)
__path__: list[str] = []
__getattr__ = Refusing("poptorch", REFUSED)
