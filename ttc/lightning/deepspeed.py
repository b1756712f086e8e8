"""Configurations as DeepSpeed has them, read for what they ask of a ShardedStrategy; keys that ask for anything else are errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer

from ttc.dialects.core.errors import Error, nearest, warn
from ttc.dialects.core.json_hooks import no_constant, unique_keys
from ttc.dialects.core.records import record
from ttc.inputs.files import require_input
from ttc.lightning.warmup import SCHEDULERS, factor

MAX_BYTES = 1 << 20
OPTIMIZERS = ("Adam", "AdamW", "SGD")
"""Optimizers that a configuration can name: PyTorch's."""
_TUNING = "collectives are PyTorch's, with buffers of their own sizes"
_HOST = "parameters and states lie in the host's memory already"
EFFECTLESS = {
    "": {
        "zero_allow_untested_optimizer": "every optimizer that treats parameters alone is shared alike",
        "steps_per_print": "Lightning prints",
        "wall_clock_breakdown": "ttc.lightning.TTCProfiler has times",
    },
    "zero_optimization": {
        **dict.fromkeys(
            ("allgather_partitions", "allgather_bucket_size", "overlap_comm", "reduce_scatter", "reduce_bucket_size",
             "contiguous_gradients", "sub_group_size", "stage3_max_live_parameters", "stage3_max_reuse_distance",
             "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold", "round_robin_gradients"), _TUNING,
        ),
    },
    "activation_checkpointing": {
        "cpu_checkpointing": _HOST,
        **dict.fromkeys(("contiguous_memory_optimization", "synchronize_checkpoint_boundary", "number_checkpoints", "profile"), _TUNING),
    },
}  # fmt: skip
"""Keys of each table that are taken and have no effect, with the reason."""
READ = {
    "": ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping", "bf16", "fp16",
         "zero_optimization", "optimizer", "scheduler", "activation_checkpointing"),
    "bf16": ("enabled",),
    "fp16": ("enabled", "loss_scale", "loss_scale_window", "initial_scale_power", "hysteresis", "min_loss_scale"),
    "zero_optimization": ("stage", "offload_optimizer", "offload_param"),
    "zero_optimization.offload_optimizer": ("device", "nvme_path", "pin_memory"),
    "zero_optimization.offload_param": ("device", "nvme_path", "pin_memory"),
    "optimizer": ("type", "params"),
    "scheduler": ("type", "params"),
    "activation_checkpointing": ("partition_activations",),
}  # fmt: skip
"""Keys of each table that are read."""


@record(eq=False)
class DeepSpeedConfig:
    """The settings that a configuration asks for.

    Args:
        stage: of sharding, 0 to 3.
        offload: a folder for states of optimizers, `cpu`, or None.
        is_bfloat16: whether products are to be in bfloat16; None: it does not say.
        train_rows, rows, accumulated: rows of an update, of a batch in one process, and batches of an update, where it says.
        clipping: norm of gradients; None: it does not say.
        optimizer, scheduler: kind and options; None: there is none.
    """

    stage: int = 0
    offload: str | Path | None = None
    is_bfloat16: bool | None = None
    train_rows: int | None = None
    rows: int | None = None
    accumulated: int | None = None
    clipping: float | None = None
    optimizer: tuple[str, dict[str, Any]] | None = None
    scheduler: tuple[str, dict[str, Any]] | None = None
    where: str | None = field(default=None)

    def check(self, trainer: Trainer, processes: int) -> None:
        """Compare with what a Trainer was told, and give it the norm of gradients.  Raises E0101 where the two say different things."""
        steps = trainer.accumulate_grad_batches
        if self.accumulated not in (None, steps):
            raise self._differs("gradient_accumulation_steps", self.accumulated, "accumulate_grad_batches", steps)
        if self.train_rows is not None and self.rows is not None and self.train_rows != self.rows * steps * processes:
            what = f"{self.train_rows} rows of an update are not {self.rows} rows of a batch x {steps} batches x {processes} processes"
            raise Error("E0101", what, self.where, hint="train_batch_size is the product of the three")
        precision = str(trainer.precision)
        if self.is_bfloat16 is not None and self.is_bfloat16 != precision.startswith("bf16"):
            raise self._differs("bf16.enabled", self.is_bfloat16, "precision", precision)
        if self.clipping is not None:
            if trainer.gradient_clip_val not in (None, self.clipping):
                raise self._differs("gradient_clipping", self.clipping, "gradient_clip_val", trainer.gradient_clip_val)
            trainer.gradient_clip_val = self.clipping

    def stands_in(self) -> bool:
        """Return whether the configuration has an optimizer, or rates, for models without them."""
        return self.optimizer is not None or self.scheduler is not None

    def optimizers(self, module: LightningModule) -> Any:
        """Return the model's optimizer, or that of the configuration where it has None, with rates of the configuration.

        What the model has goes first: rates are added to one optimizer that has none.
        """
        made = type(module).configure_optimizers(module)
        if made is None and self.optimizer is not None:
            made = self._optimizer(module)
        if not isinstance(made, torch.optim.Optimizer):
            return made
        if self.scheduler is None:
            return made
        return {"optimizer": made, "lr_scheduler": {"scheduler": self._scheduler(made), "interval": "step"}}

    def _optimizer(self, module: LightningModule) -> torch.optim.Optimizer:
        kind, options = self.optimizer or ("", {})
        make = getattr(torch.optim, kind)
        known = list(signature(make).parameters)[1:]
        for name in options:
            if name not in known:
                raise Error("E0101", f"{kind} has no option '{name[:40]}'", self.where, hint=nearest(name, known))
        return make(module.parameters(), **options)

    def _scheduler(self, optimizer: torch.optim.Optimizer) -> Any:
        kind, options = self.scheduler or ("", {})
        rate = factor(kind, options, self.where)
        bases = [float(group["lr"]) for group in optimizer.param_groups]
        return torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda step, base=base: rate(step) / base for base in bases])

    def _differs(self, key: str, value: object, option: str, other: object) -> Error:
        return Error("E0101", f"the config's {key} is {value}, the Trainer's {option} {other}", self.where, hint="let one of them say it")


def read_config(config: Mapping[str, Any] | str | Path) -> DeepSpeedConfig:
    """Return what a configuration asks for.

    Args:   config: a mapping, or the path of one in JSON.
    Raises: E0101 for keys that DeepSpeed or ttc does not have, all of which are named, and for values that cannot be; E0102; E0105.
    """
    where = None if isinstance(config, Mapping) else str(config)
    given = config_table(config)
    unknown = sorted(_unknown(given, ""))
    if unknown:
        known = [f"{table}.{key}".lstrip(".") for table, keys in READ.items() for key in (*keys, *EFFECTLESS.get(table, {}))]
        raise Error("E0101", f"the config has keys that mean nothing: {', '.join(unknown)[:400]}", where, hint=nearest(unknown[0], known))
    zero = given.get("zero_optimization", {})
    if given.get("fp16", {}).get("enabled"):
        raise Error("E0105", "fp16 is not supported: float16 has a small range, for which losses must be scaled", where, hint="bf16")
    if given.get("activation_checkpointing", {}).get("partition_activations"):
        raise Error("E0105", "partition_activations is not supported: there are no shares of tensors", where)
    bfloat16 = given.get("bf16", {}).get("enabled")
    return DeepSpeedConfig(
        stage=_number(zero, "stage", where) or 0,
        offload=_offload(zero, where),
        is_bfloat16=None if bfloat16 is None else bool(bfloat16),
        train_rows=_number(given, "train_batch_size", where),
        rows=_number(given, "train_micro_batch_size_per_gpu", where),
        accumulated=_number(given, "gradient_accumulation_steps", where),
        clipping=_norm(given, where),
        optimizer=_kind(given, "optimizer", OPTIMIZERS, where),
        scheduler=_kind(given, "scheduler", SCHEDULERS, where),
        where=where,
    )


def config_table(config: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """Return a configuration as a mapping, read from its file if it is a path.  Raises E0101 for what is no object of JSON; E0102."""
    if isinstance(config, Mapping):
        return config
    path = Path(config)
    if require_input(path).stat().st_size > MAX_BYTES:
        raise Error("E0101", f"a config of more than {MAX_BYTES >> 20} MB", str(path))
    try:
        found = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique_keys, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Error("E0101", f"not a file of JSON: {error}", str(path)) from None
    if not isinstance(found, dict):
        raise Error("E0101", "a config is an object of JSON", str(path))
    return found


def _unknown(given: Mapping[str, Any], table: str) -> set[str]:
    """Return keys that nothing reads, by their paths; those without an effect are told.  Raises E0101 for a table that is none."""
    found: set[str] = set()
    for key, value in given.items():
        path = f"{table}.{key}".lstrip(".")
        if path in READ:
            if not isinstance(value, Mapping):
                raise Error("E0101", f"the config's {path} is a table, not {value!r:.40}")
            if path not in ("optimizer", "scheduler") or value.keys() - {"type", "params"}:
                found |= _unknown(value, path)
        elif key in EFFECTLESS.get(table, {}):
            if value not in (False, None):
                warn(f"the config's {path} has no effect: {EFFECTLESS[table][key]}")
        elif key not in READ[table]:
            found.add(path)
    return found


def _number(table: Mapping[str, Any], key: str, where: str | None) -> int | None:
    value = table.get(key)
    if value is None or value == "auto":
        return None
    if type(value) is not int or value < 0:
        raise Error("E0101", f"the config's {key} is a number, not {value!r:.40}", where)
    return value


def _norm(given: Mapping[str, Any], where: str | None) -> float | None:
    value = given.get("gradient_clipping")
    if value is None or value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise Error("E0101", f"the config's gradient_clipping is a norm, not {value!r:.40}", where)
    return float(value) or None


def _offload(zero: Mapping[str, Any], where: str | None) -> str | Path | None:
    """Return where states of optimizers are to lie."""
    found: str | Path | None = None
    for key in ("offload_param", "offload_optimizer"):
        device = zero.get(key, {}).get("device", "none")
        if device not in ("none", "cpu", "nvme"):
            raise Error("E0101", f"the config's {key} cannot be on '{str(device)[:40]}'", where, hint="none, cpu, nvme")
        if device == "nvme" and key == "offload_param":
            raise Error("E0105", "parameters on a disk are not supported: states of optimizers alone lie in files", where)
        if device == "nvme" and "nvme_path" not in zero[key]:
            raise Error("E0101", f"the config's {key} has no nvme_path", where)
        if device != "none":
            found = Path(zero[key]["nvme_path"]) if device == "nvme" else "cpu"
    return found


def _kind(given: Mapping[str, Any], key: str, kinds: Any, where: str | None) -> tuple[str, dict[str, Any]] | None:
    """Return the kind and options of an optimizer, or of rates."""
    table = given.get(key)
    if table is None:
        return None
    kind, options = table.get("type"), table.get("params", {})
    if kind not in kinds:
        raise Error("E0101", f"there is no {key} '{str(kind)[:40]}' for a config", where, hint=nearest(str(kind), kinds))
    if not isinstance(options, Mapping):
        raise Error("E0101", f"the config's {key}.params is a table", where)
    return kind, dict(options)
