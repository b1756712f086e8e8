"""The module that scripts import as `poptorch`: its names in ttc's own; see the page "Coming from PopTorch"."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator
from typing import Any, Self

import torch

import ttc
from ttc.compat.names import refusing, submodule, told
from ttc.dialects.core.errors import Error
from ttc.marks.ops import mark_loss, probe
from ttc.marks.stages import stage


class OutputMode(enum.Enum):
    """Which outputs a call gives, as `output=` of an executor."""

    Default, All, Final, EveryN, Sum = "default", "all", "last", "every", "sum"


AnchorMode = OutputMode


class ReductionType(enum.Enum):
    """How gradients of an update are reduced, as `reduction=` of `ttc.training`."""

    Mean, Sum, NoReduction = "mean", "sum", "none"


class _Training:
    """What `Options().Training` holds."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.accumulation, self.reduction = 1, "mean"

    def gradientAccumulation(self, gradient_accumulation: int) -> Options:
        """Set the option `accumulate` of training."""
        self.accumulation = gradient_accumulation
        return self._options

    def accumulationAndReplicationReductionType(self, reduction: ReductionType) -> Options:
        """Set the option `reduction` of training.  Raises E0105 for NoReduction."""
        if reduction is ReductionType.NoReduction:
            raise Error("E0105", "poptorch.ReductionType.NoReduction is not supported: an update has one gradient")
        self.reduction = reduction.value
        return self._options


class Options:
    """Options of executors; each method sets one and returns the options."""

    def __init__(self) -> None:
        self.iterations, self.replicas, self.output = 1, 1, "default"
        self.Training = _Training(self)

    def deviceIterations(self, device_iterations: int) -> Self:
        """Set the option `iterations` of executors."""
        self.iterations = device_iterations
        return self

    def replicationFactor(self, replication_factor: int) -> Self:
        """Set the option `replicas` of executors."""
        self.replicas = replication_factor
        return self

    def outputMode(self, output_mode: OutputMode, output_return_period: int | None = None) -> Self:
        """Set the option `output` of executors.  Raises E0101 for EveryN without a period."""
        every = output_mode is OutputMode.EveryN
        if every != bool(output_return_period):
            raise Error("E0101", "EveryN, and it alone, has an output_return_period above 0")
        self.output = f"every:{output_return_period}" if every else output_mode.value
        return self

    anchorMode = outputMode

    def __getattr__(self, name: str) -> Any:
        return refusing("poptorch.Options", REFUSED_OPTIONS)(name)

    def fields(self, *, training: bool) -> dict[str, Any]:
        """Return the options as `ttc.training` and `ttc.inference` take them."""
        output = self.output if self.output != "default" else ("last" if training else "all")
        found = {"iterations": self.iterations, "replicas": self.replicas, "output": output, "target": os.environ.get("TTC_TARGET", "host")}
        own = {"accumulate": self.Training.accumulation, "reduction": self.Training.reduction, "loss_rows": "output"}
        return {**found, **(own if training else {}), "recompile": "error"}


class PoplarExecutor:
    """An executor of ttc under the names of PopTorch; weights are written into the model after every call."""

    def __init__(self, model: Any, executor: Any, trains: bool = False, loss: bool = False) -> None:
        self.model, self.executor, self._trains, self._loss = model, executor, trains, loss

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model on the rows of a call; arguments by name come in the order of the model's."""
        found = self.executor(*args, *kwargs.values())
        if not self._trains:
            return found
        self.copyWeightsToHost()
        return found if self._loss else found[0]

    def copyWeightsToHost(self) -> None:
        """Call `pull_weights` of the executor."""
        if self._trains:
            self.executor.pull_weights(overwrite=True)

    def copyWeightsToDevice(self) -> None:
        """Call `push_weights` of the executor."""
        self.executor.push_weights(**({"overwrite": True} if self._trains else {}))

    def setOptimizer(self, optimizer: Any) -> None:
        """Assign `optimizer`, whose numbers are read at every call anyway."""
        told("poptorch setOptimizer", "executor.optimizer = ...; changed learning rates need no call")
        self.executor.optimizer = optimizer

    def destroy(self) -> None:
        """Call `close` of the executor."""
        self.executor.close()


def _options(first: Any, options: Options | None, accumulation: int, replicas: int) -> Options:
    """The options of both forms: those of the later one, or numbers."""
    if isinstance(first, Options) or options is not None:
        return options or first
    return Options().deviceIterations(first or 1).replicationFactor(replicas).Training.gradientAccumulation(accumulation)


def trainingModel(
    model: Any,
    device_iterations: Any = None,
    gradient_accumulation: int = 1,
    replication_factor: int = 1,
    profile: bool = False,
    trace_model: bool = True,
    loss: Any = None,
    optimizer: Any = None,
    options: Options | None = None,
) -> PoplarExecutor:
    """`ttc.training`, in the form of numbers and a loss, or of Options and a loss inside the model."""
    told("poptorch.trainingModel", "ttc.training")
    _ = profile, trace_model  # every model is traced; `ttc perf` tells where time goes
    model = model.model if isinstance(model, PoplarExecutor) else model
    found = _options(device_iterations, options, gradient_accumulation, replication_factor)
    chosen = torch.optim.SGD(model.parameters(), lr=0.01) if optimizer is None else optimizer
    executor = ttc.training(model, loss="output" if loss is None else loss, optimizer=chosen, **found.fields(training=True))
    return PoplarExecutor(model, executor, trains=True, loss=loss is not None)


def inferenceModel(
    model: Any,
    device_iterations: Any = None,
    replication_factor: int = 1,
    profile: bool = False,
    trace_model: bool = True,
    options: Options | None = None,
) -> PoplarExecutor:
    """`ttc.inference`, in the form of numbers or of Options."""
    told("poptorch.inferenceModel", "ttc.inference")
    _ = profile, trace_model  # every model is traced; `ttc perf` tells where time goes
    model = model.model if isinstance(model, PoplarExecutor) else model
    found = _options(device_iterations, options, 1, replication_factor)
    if found.Training.accumulation != 1:
        message = "You must set Options().Training.gradientAccumulation to 1 when running an inferenceModel. Use deviceIterations"
        raise Error("E0101", message)
    return PoplarExecutor(model, ttc.inference(model, **found.fields(training=False)))


def ipu_print_tensor(tensor: Any, title: str = "", **formatting: Any) -> Any:
    """`ttc.probe`; how numbers are written cannot be chosen."""
    if formatting:
        told("the formatting of poptorch.ipu_print_tensor", "a function as sink=, which gets the value,")
    return probe(tensor, title or "ipu_print_tensor")


identity_loss = mark_loss


class IPU(torch.nn.Module):
    """`ttc.stage` around a layer, or as a statement in a model."""

    def __init__(self, ipu_id: int, layer_to_call: Any = None) -> None:
        super().__init__()
        self.ipu_id, self.layer_to_call = ipu_id, layer_to_call
        if layer_to_call is None:
            stage(ipu_id).start()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the layer in its stage."""
        with stage(self.ipu_id):
            return self.layer_to_call(*args, **kwargs)


def Block(user_id: Any = None, ipu_id: int | None = None) -> stage:
    """`ttc.stage(n)`, whose number is that of the IPU, or of the block; a text has none."""
    return stage(user_id if ipu_id is None else ipu_id)


def BeginBlock(layer_to_call: Any, user_id: Any = None, ipu_id: int | None = None) -> Any:
    """Mark a module in place: `ttc.stage(n)(module)`."""
    return Block(user_id, ipu_id)(layer_to_call)


BlockFunction = Block


class DataLoader:
    """`ttc.DataLoader`, which takes the rows of a call of these options."""

    def __init__(self, options: Options, dataset: Any, batch_size: int = 1, shuffle: bool = False, drop_last: bool = True) -> None:
        factors = {"iterations": options.iterations, "replicas": options.replicas, "accumulate": options.Training.accumulation}
        partial = "drop" if drop_last else "error"
        self._loader = ttc.DataLoader(dataset, batch_size, shuffle=shuffle, partial=partial, **factors)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[list[Any]]:
        return (list(batch) for batch in self._loader)


REFUSED_OPTIONS = {
    "enableExecutableCaching": "code is kept anyway",
    "enableProfiling": "`ttc run --profile` and `ttc perf` tell where time goes",
    "Precision": "format= and precision= of ttc.training choose number formats",
    "TensorLocations": "ttc places tensors itself",
    "setExecutionStrategy": "stages run in one order on one machine",
    "randomSeed": "torch.manual_seed seeds initial weights",
}
"""Options that mean nothing here, and why."""
REFUSED = {
    "custom_op": "custom ops are code for an IPU; write the op in PyTorch",
    "for_loop": "write the loop in Python or as torch.while_loop",
    "recomputationCheckpoint": "ttc.recompute(f) marks what is computed again",
    "setLogLevel": "use -v of the command line",
    "ipuHardwareVersion": "there is no IPU",
    "LossScaling": "loss_scale= of ttc.training",
}
"""Names that mean nothing here, and why."""
optim = submodule(
    "poptorch",
    "optim",
    {name: getattr(torch.optim, name) for name in ("SGD", "Adam", "AdamW", "RMSprop")},
    {"LAMB": "ttc.optim has none; AdamW is nearest"},
)
SUBMODULES = {"optim": optim}
__getattr__ = refusing("poptorch", REFUSED)
