"""Classes of Lightning-Habana as those of `ttc.lightning`, by their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch.strategies import DDPStrategy, SingleDeviceStrategy

from ttc.compat.names import ignored, told
from ttc.dialects.core.errors import Error
from ttc.lightning import ShardedStrategy, TTCAccelerator, TTCPrecision, TTCProfiler
from ttc.lightning.deepspeed import EFFECTLESS, config_table

_INFERENCE = "each process predicts with the whole model, whose numbers are the same"
EFFECTLESS_INFERENCE: dict[str, str] = {
    **dict.fromkeys(
        ("tensor_parallel", "replace_with_kernel_inject", "replace_method", "injection_policy", "enable_cuda_graph"), _INFERENCE
    ),
    "dtype": "the Trainer's precision says in what steps compute",
}
"""Arguments and keys for DeepSpeed's inference that are taken and have no effect, with the reason."""
_HOST = "parameters and states lie in the host's memory already"
EFFECTLESS_ARGUMENTS: dict[str, str] = {
    "parallel_devices": "the Trainer's `devices` counts processes",
    "process_group_backend": "gloo connects processes of hosts",
    "zero_allow_untested_optimizer": EFFECTLESS[""]["zero_allow_untested_optimizer"],
    "cpu_checkpointing": _HOST,
    **{name: reason for name, reason in EFFECTLESS["zero_optimization"].items() if name != "stage"},
    **EFFECTLESS_INFERENCE,
}
"""Arguments of strategies that are taken and have no effect, with the reason."""
REFUSED_ARGUMENTS: dict[str, str] = {
    "partition_activations": "there are no shares of tensors",
    "nvme_path": "offload=FOLDER of ttc.lightning.ShardedStrategy keeps states of optimizers on a disk",
    "remote_device": "parameters lie in the host's memory",
    "mixed_precision": "precision_plugin, or the Trainer's precision, says in what steps compute",
}
"""Arguments of strategies that mean nothing here, with the reason."""


class HPUAccelerator(TTCAccelerator):
    """The accelerator: ttc compiles for the host, unless options say otherwise."""

    def __init__(self, **options: Any) -> None:
        told("lightning_habana's HPUAccelerator", "ttc.lightning.TTCAccelerator")
        super().__init__(**options)


class HPUProfiler(TTCProfiler):
    """The profiler, which has a summary here."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        told("lightning_habana's HPUProfiler", "ttc.lightning.TTCProfiler")
        super().__init__(*arguments, **options)


class HPUPrecisionPlugin(TTCPrecision):
    """The precision in which compiled steps compute."""

    def __init__(self, precision: str = "32-true", **named: Any) -> None:
        told("lightning_habana's precision plugins", "ttc.lightning.TTCPrecision")
        _without(named, {"device": "tensors lie on the CPU"})
        super().__init__(precision)


HPUDeepSpeedPrecisionPlugin = HPUFSDPPrecision = HPUFSDPPrecisionPlugin = HPUPrecisionPlugin
"""Precisions of DeepSpeed, which all ask for the same here; the last one is a name that the documentation has, and the package has not."""


class HPUDDPStrategy(DDPStrategy):
    """Replicas of a whole model: Lightning's own."""

    def __init__(self, *_: Any, **options: Any) -> None:
        told("lightning_habana's HPUDDPStrategy", "lightning's DDPStrategy")
        super().__init__(**_without(options, EFFECTLESS_ARGUMENTS))


HPUParallelStrategy = HPUDDPStrategy


class SingleHPUStrategy(SingleDeviceStrategy):
    """The strategy of one process, which is Lightning's own."""

    def __init__(self, *_: Any, **__: Any) -> None:
        told("lightning_habana's SingleHPUStrategy", "a Trainer without strategy")
        super().__init__("cpu")


class HPUDeepSpeedStrategy(ShardedStrategy):
    """Replicas that share what DeepSpeed's stage says.

    Args:
        zero_optimization, stage: what is shared; False: nothing.
        offload_optimizer, offload_parameters: taken, as all lies in the host's memory.
        config: of DeepSpeed's, in the place of these; a mapping, or the path of one in JSON.
        arguments: further ones, of tables here.
    Raises: E0101, E0105.
    """

    def __init__(
        self,
        *,
        zero_optimization: bool = True,
        stage: int = 2,
        offload_optimizer: bool = False,
        offload_parameters: bool = False,
        config: Mapping[str, Any] | str | Path | None = None,
        **arguments: Any,
    ) -> None:
        told("lightning_habana's HPUDeepSpeedStrategy", "ttc.lightning.ShardedStrategy")
        rest = _without(arguments, EFFECTLESS_ARGUMENTS)
        if config is not None:
            super().__init__(config=_without(dict(config_table(config)), EFFECTLESS_INFERENCE), **rest)
            return
        offload = "cpu" if offload_optimizer or offload_parameters else None
        super().__init__(stage if zero_optimization else 0, offload=offload, **rest)


class HPUFSDPStrategy(ShardedStrategy):
    """Replicas that share what the name of a sharding says.

    Args:
        sharding_strategy: FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD or NO_SHARD.
        precision_plugin: of this package.
        cpu_offload: taken, as all lies in the host's memory.
        auto_wrap_policy: classes of modules that are gathered one after another.
        activation_checkpointing, activation_checkpointing_policy: classes of modules whose activations are computed again.
        state_dict_type: full; checkpoints are whole.
        arguments: further ones, of tables here.
    Raises: E0101, E0105.
    """

    def __init__(
        self,
        *,
        sharding_strategy: Any = "FULL_SHARD",
        precision_plugin: Any = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = (),
        activation_checkpointing: Any = None,
        activation_checkpointing_policy: Any = None,
        state_dict_type: str = "full",
        **arguments: Any,
    ) -> None:
        told("lightning_habana's HPUFSDPStrategy", "ttc.lightning.ShardedStrategy")
        if precision_plugin is not None and not isinstance(precision_plugin, TTCPrecision):
            raise Error("E0101", f"a {type(precision_plugin).__name__} is no precision for sharing", hint='HPUFSDPPrecision("bf16-mixed")')
        if state_dict_type != "full":
            raise Error("E0105", f"state_dict_type='{str(state_dict_type)[:40]}' is not supported: checkpoints are whole")
        super().__init__(
            sharding=sharding_strategy,
            offload="cpu" if cpu_offload else None,
            units=_classes(auto_wrap_policy),
            recompute=(*_classes(activation_checkpointing), *_classes(activation_checkpointing_policy)),
            precision_plugin=precision_plugin,
            **_without(arguments, EFFECTLESS_ARGUMENTS),
        )


def _classes(given: Any) -> Sequence[Any]:
    """Classes of modules, of one, several or none.  Raises E0105 for a function, which PyTorch's FSDP takes, too."""
    if given is None:
        return ()
    if callable(given) and not isinstance(given, type):
        raise Error("E0105", "a policy that is a function is not supported: classes of modules are gathered, or computed again")
    return (given,) if isinstance(given, type) else tuple(given)


def _without(arguments: dict[str, Any], effectless: Mapping[str, str]) -> dict[str, Any]:
    """Arguments but those without an effect, which are told.  Raises E0105 for those that mean nothing."""
    for name, value in arguments.items():
        if name in REFUSED_ARGUMENTS and value not in (None, False):
            raise Error("E0105", f"{name} is not supported: {REFUSED_ARGUMENTS[name]}")
        if name in effectless:
            ignored(f"lightning_habana's {name}", effectless[name])
    return {name: value for name, value in arguments.items() if name not in effectless and name not in REFUSED_ARGUMENTS}
