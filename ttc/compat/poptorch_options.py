"""Options of PopTorch: those that are options of ttc's executors, those without effect, and those that are refused, with reasons."""

from __future__ import annotations

import copy
import enum
import os
from typing import Any, Self

from ttc.compat.names import Ignoring
from ttc.dialects.core.errors import Error


class OutputMode(enum.Enum):
    """Which outputs a call gives, as `output=` of an executor."""

    Default, All, Final, EveryN, Sum = "default", "all", "last", "every", "sum"


class ReductionType(enum.Enum):
    """How gradients of an update are reduced, as `reduction=` of `ttc.training`."""

    Mean, Sum, NoReduction = "mean", "sum", "none"


class AutoStage(enum.Enum):
    """How blocks become stages: by the IPU they name, or by a number that grows with every block."""

    SameAsIpu, AutoIncrement = range(2)


class DataLoaderMode(enum.Enum):
    """How rows are loaded; here always when they are asked for."""

    Sync, Async, AsyncRebatched = range(3)


class ConnectionType(enum.Enum):
    """When an IPU is attached; here none ever is."""

    Always, OnDemand, Never = range(3)


class SyncPattern(enum.Enum):
    """How IPUs wait for each other; here are none."""

    Full, SinglePipeline, ReplicaAndLadder = range(3)


class HalfFloatCastingBehavior(enum.Enum):
    """What numbers of mixed formats become; here what PyTorch makes of them."""

    FloatDowncastToHalf, HalfUpcastToFloat = range(2)


class MeanReductionStrategy(enum.Enum):
    """When a mean of gradients is divided; here once, at the end."""

    Running, Post = range(2)


class PipelinedExecution:
    """Stages that work at the same time, of which a call needs enough microbatches to fill them."""

    def __init__(self, *args: Any) -> None:
        self.increments = AutoStage.AutoIncrement in args


class ShardedExecution(PipelinedExecution):
    """Stages that work one after another."""


_MACHINE = "this machine computes, and no IPU"
_MEMORY = "tensors lie where ttc puts them, which changes no number"
_FORMATS = "format= and precision= of ttc.training choose how numbers are kept and computed"
_QUIET = "it changes no number"
EFFECTLESS = {
    **dict.fromkeys(("useIpuModel", "useIpuId", "useOfflineIpuTarget", "autoRoundNumIPUs", "connectionType", "syncPattern"), _MACHINE),
    **dict.fromkeys(("setAvailableMemoryProportion", "numIOTiles"), _MEMORY),
    **dict.fromkeys(("logDir", "modelName", "showCompilationProgressBar", "appendToLocationExcludes", "logCycleCount"), _QUIET),
    "relaxOptimizerAttributesChecks": "numbers of optimizers are read at every call",
    "enableExecutableCaching": "code is kept anyway",
    "enableProfiling": "`ttc run --profile` and `ttc perf` tell where time goes",
    "enableStableNorm": "norms are computed from differences to the mean",
    "randomSeed": "torch.manual_seed seeds initial weights, and drawing ops of a model have seeds of their own",
}
"""Options that are taken and change nothing, and why."""
SECTIONS = {
    "Precision": dict.fromkeys(
        (
            *("enableStochasticRounding", "enableFloatingPointExceptions", "setPartialsType", "halfFloatCasting", "autocastEnabled"),
            *("autocastPolicy", "runningVarianceAlwaysFloat", "runningStatisticsAlwaysFloat"),
        ),
        _FORMATS,
    ),
    "TensorLocations": dict.fromkeys(
        (
            *("setActivationLocation", "setWeightLocation", "setOptimizerLocation", "setAccumulatorLocation", "setGradientLocation"),
            "numIOTiles",
        ),
        _MEMORY,
    ),
    "_Popart": {"set": "there is no PopART", "setPatterns": "there is no PopART"},
    "Training": {
        "setAutomaticLossScaling": "loss_scale= of ttc.training scales losses; numbers of float32 need none",
        "setConvolutionDithering": _MEMORY,
        "setMeanAccumulationAndReplicationReductionStrategy": "a mean is divided once, at the end",
    },
}
"""Settings of groups of options that are taken and change nothing, and why."""
REFUSED_OPTIONS = {
    "Distributed": "replicas run in one process; `torchrun` and ttc.training(replicas=) are not joined",
    "inputReplicaGrouping": "each replica has rows of its own",
    "broadcastBuffers": "running statistics are those of the first replica",
    "updatableNamedBuffers": "push_weights() of an executor takes buffers with the parameters",
    "loadFromFile": "options are set in the script",
    "anchorTensor": "ttc.probe(x, name, sink=) hands out values",
    "disableModuleNamescope": "ops keep the names of the model",
}
"""Options that would change results or their places, and that nothing here does."""


class Training(Ignoring):
    """Options of training alone, which `Options().Training` holds; each method sets one and returns them."""

    def __init__(self, options: Options) -> None:
        super().__init__(self, "poptorch.Options.Training", SECTIONS["Training"])
        self._options = options
        self.accumulation, self.reduction = 1, "mean"

    def gradientAccumulation(self, gradient_accumulation: int) -> Self:
        """Set the option `accumulate` of training."""
        self._options.check_open()
        self.accumulation = gradient_accumulation
        return self

    def accumulationAndReplicationReductionType(self, reduction: ReductionType) -> Self:
        """Set the option `reduction` of training.  Raises E0105 for NoReduction."""
        self._options.check_open()
        if reduction is ReductionType.NoReduction:
            raise Error("E0105", "poptorch.ReductionType.NoReduction is not supported: an update has one gradient")
        self.reduction = reduction.value
        return self


class Options:
    """Options of executors; each method sets one and returns the options.  An executor takes them as they are, and freezes them."""

    def __init__(self) -> None:
        self.iterations, self.replicas, self.output = 1, 1, "default"
        self.strategy: Any = PipelinedExecution()
        self.frozen = False
        self.Training = Training(self)
        self.sections = {name: Ignoring(None, f"poptorch.Options.{name}", SECTIONS[name]) for name in SECTIONS if name != "Training"}

    def check_open(self) -> None:
        """Raise E0101 where an executor has taken the options."""
        if self.frozen:
            raise Error("E0101", "options cannot be changed once a model has taken them", hint="make others with clone()")

    def _set(self, name: str, value: Any) -> Self:
        self.check_open()
        setattr(self, name, value)
        return self

    def deviceIterations(self, device_iterations: int) -> Self:
        """Set the option `iterations` of executors."""
        return self._set("iterations", device_iterations)

    def replicationFactor(self, replication_factor: int) -> Self:
        """Set the option `replicas` of executors."""
        return self._set("replicas", replication_factor)

    def setExecutionStrategy(self, strategy: Any) -> Self:
        """Set how stages run, which changes no number. With PipelinedExecution a call must have microbatches that fill the stages."""
        return self._set("strategy", strategy)

    def outputMode(self, output_mode: OutputMode, output_return_period: int | None = None) -> Self:
        """Set the option `output` of executors.  Raises E0101 for EveryN without a period."""
        every = output_mode is OutputMode.EveryN
        if every != bool(output_return_period):
            raise Error("E0101", "EveryN, and it alone, has an output_return_period above 0")
        return self._set("output", f"every:{output_return_period}" if every else output_mode.value)

    anchorMode = outputMode

    def clone(self) -> Options:
        """Return options of the same values that can be changed."""
        made = Options()
        made.iterations, made.replicas, made.output, made.strategy = self.iterations, self.replicas, self.output, copy.copy(self.strategy)
        made.Training.accumulation, made.Training.reduction = self.Training.accumulation, self.Training.reduction
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "sections":
            raise AttributeError(name)
        if name in self.sections:
            return self.sections[name]
        return getattr(Ignoring(self, "poptorch.Options", EFFECTLESS, REFUSED_OPTIONS), name)

    def fields(self, *, training: bool) -> dict[str, Any]:
        """Return the options as `ttc.training` and `ttc.inference` take them."""
        self.frozen = True
        output = self.output if self.output != "default" else ("last" if training else "all")
        found = {"iterations": self.iterations, "replicas": self.replicas, "output": output, "target": os.environ.get("TTC_TARGET", "host")}
        own = {"accumulate": self.Training.accumulation, "reduction": self.Training.reduction, "loss_rows": "output"}
        return {**found, **(own if training else {}), "recompile": "error"}


class TensorLocationSettings(Ignoring):
    """Places of tensors, which ttc chooses itself."""

    def __init__(self, **_given: Any) -> None:
        names = ("minElementsForOffChip", "minElementsForReplicatedTensorSharding", "useOnChipStorage", "useReplicatedTensorSharding")
        super().__init__(self, "poptorch.TensorLocationSettings", dict.fromkeys((*names, "useIOTilesToLoad", "useIOTilesToStore"), _MEMORY))


NAMES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(OutputMode, ReductionType, AutoStage, DataLoaderMode, ConnectionType, SyncPattern, MeanReductionStrategy, PipelinedExecution),
        *(ShardedExecution, Options, TensorLocationSettings, HalfFloatCastingBehavior),
    )
}
"""The names of options that scripts import from poptorch."""
