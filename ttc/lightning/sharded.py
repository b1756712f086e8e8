"""The strategy whose processes share states of optimizers, gradients and parameters: `ttc.dist.shard` for a Trainer."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from torch import nn
from torch.distributed.tensor import DTensor

from ttc.dialects.core.errors import Error, nearest
from ttc.dist.sharded import broadcast, made_optimizer
from ttc.dist.sharding import Sharding, replicated, reshard
from ttc.lightning.deepspeed import DeepSpeedConfig, read_config
from ttc.lightning.rates import move_rates
from ttc.lightning.recomputed import recompute
from ttc.lightning.strategy import MeshStrategy
from ttc.lightning.tensors import cut_like, whole

SHARDINGS = {"FULL_SHARD": 3, "SHARD_GRAD_OP": 2, "HYBRID_SHARD": 3, "NO_SHARD": 0}
"""Stages of sharding by the names that PyTorch's FSDP has for them; HYBRID_SHARD shares within groups, which are replicas."""


class CutModule(nn.Module):
    """The module that hooks of PyTorch's engines are put around, so that the model stays of its own class."""

    def __init__(self, model: LightningModule) -> None:
        super().__init__()
        self.model = model

    def forward(self, *x: Any, **named: Any) -> Any:
        """Call the model, whose step a Trainer has put in the place of its forward pass."""
        return self.model(*x, **named)


class ShardedStrategy(MeshStrategy):
    """Train with replicas that share what each would hold whole; weights become those of one process all the same.

    Checkpoints are whole: they load into any number of processes, and under any strategy.

    Args:
        stage: 0: nothing is shared; 1: states of optimizers; 2: gradients, too; 3: parameters, too.  None: as `sharding` says, or 1.
        sharding: FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD or NO_SHARD, in any case, in place of a stage.
        group: processes that share, of which HYBRID_SHARD has several groups; None: those of a host.
        offload: a folder for states of optimizers, in mapped files; `cpu` or None: memory.
        units: classes of modules whose parameters are gathered apart from others, in stages 2 and 3.
        recompute: classes of modules whose activations are computed again in the backward pass.
        config: in the place of stage and offload, a mapping of DeepSpeed's, or the path of one in JSON.
        options: of Lightning's DDPStrategy.
    Raises: E0101 for options that cannot be, E0102 for a file that is none, and E0105 for what a config asks for in vain.
    """

    strategy_name = "ttc_sharded"

    def __init__(
        self,
        stage: int | None = None,
        *,
        sharding: str | Any = None,
        group: int | None = None,
        offload: str | Path | None = None,
        units: Sequence[type[nn.Module]] = (),
        recompute: Sequence[type[nn.Module]] = (),
        config: Mapping[str, Any] | str | Path | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.settings: DeepSpeedConfig | None = None
        """What the config asks for."""
        if config is not None:
            if stage is not None or sharding is not None or offload is not None:
                raise Error("E0101", "a config has the stage and the offloading of its own", hint="give either, or config=")
            self.settings = read_config(config)
            stage, offload = self.settings.stage, self.settings.offload
        named = _named(sharding)
        if stage is not None and named is not None:
            raise Error("E0101", f"sharding is stage {stage}, or {named}, not both")
        self._is_hybrid = named == "HYBRID_SHARD"
        if group is not None and not self._is_hybrid:
            raise Error("E0101", "only HYBRID_SHARD has groups", hint='sharding="HYBRID_SHARD"')
        self._group = group
        number = stage if stage is not None else SHARDINGS[named] if named is not None else 1
        self._sharding = Sharding.of(number, offload, units)
        self._recomputed = Sharding.of(0, None, recompute).units
        self._shared: CutModule | None = None

    @property
    def stage(self) -> int:
        """The stage of sharding as a number."""
        return self._sharding.stage

    def setup(self, trainer: Trainer) -> None:
        """Give all processes the model of the first, cut it, and make optimizers of what this process has."""
        module = self.module
        if self.settings is not None:
            self.settings.check(trainer, self.mesh.replicas())
        self.compiler.setup(trainer)
        fits = trainer.state.fn == TrainerFn.FITTING
        if self._shared is None or self._shared.model is not module:
            self._shared = None
            self._check(module)
            self.precision_plugin.convert_module(module)
            self.model_to_device()
            broadcast(self.mesh, module)
        self.model = self._setup_model(module) if fits or self._shared is not None else module
        if fits:
            self.setup_optimizers(trainer)
        self.setup_precision_plugin()

    def setup_optimizers(self, trainer: Trainer) -> None:
        """Make the model's optimizers, or those of the config, share their states."""
        with self._configured():
            super().setup_optimizers(trainer)
        parameters = list(self.module.parameters())
        shared: list[torch.optim.Optimizer] = []
        for optimizer in self.optimizers:
            made = made_optimizer(optimizer, parameters, self.mesh, self._sharding, {})
            move_rates(optimizer, made, [config.scheduler for config in self.lr_scheduler_configs])
            shared.append(made)
        self.optimizers = shared

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """Return the whole model; every process calls it, and the first alone has tensors that are cut."""
        if self._shared is not None:
            reshard([self._shared])
        return whole(self.module.state_dict(), keep=self.is_global_zero)

    def load_model_state_dict(self, checkpoint: Mapping[str, Any], strict: bool = True) -> None:
        """Take a whole model, of which each process keeps its part."""
        state = cut_like(checkpoint["state_dict"], dict(self.module.state_dict()))
        self.module.load_state_dict(state, strict=strict)

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Return the whole state of an optimizer; every process calls it, and the first alone has tensors that are cut."""
        return whole(super().optimizer_state(optimizer), keep=self.is_global_zero)

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Take the whole state of optimizers, of which each process keeps its part."""
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            cut = {number: cut_like(values, parameters[number]) for number, values in state["state"].items()}
            optimizer.load_state_dict({**state, "state": cut})

    def teardown(self) -> None:
        """Let go of the Trainer; a model that is cut stays so, for what this strategy runs next."""
        if self._shared is not None:
            reshard([self._shared])
            self.model = self.lightning_module
        super().teardown()

    def _setup_model(self, model: nn.Module) -> nn.Module:
        """Return what runs the model's steps in all replicas."""
        recompute(model, self._recomputed)
        if not self._sharding.is_cut(self.mesh):
            return super()._setup_model(model) if self.mesh.replicas() > 1 else model
        if self._shared is None:
            self._shared = CutModule(self.module)
            replicated(self._shared, self.mesh, self._sharding, self.target)
        return self._shared

    def sizes(self) -> dict[str, int]:
        """Return how many processes are replicas, and how many share in each."""
        world = self.world_size
        if not self._is_hybrid:
            return {"data": world}
        group = self.num_processes if self._group is None else self._group
        if type(group) is not int or group < 1 or world % group:
            raise Error("E0101", f"{world} processes cannot be groups of {group!r}", hint="group= divides the number of processes")
        return {"data": world // group, "shard": group}

    def _check(self, module: LightningModule) -> None:
        """Raises E0101 for models that cannot be cut."""
        if self._sharding.is_cut(self.mesh) and not module.automatic_optimization:
            what = "a step that optimizes by itself goes backward before its forward pass ends, when parameters that are cut are not ready"
            raise Error("E0101", what, hint="stage=1 shares states of the optimizer")
        if any(isinstance(p, DTensor) for p in module.parameters()):
            raise Error("E0101", "the model's parameters are cut by another strategy", hint="load its checkpoint into a new model")

    @contextmanager
    def _configured(self) -> Generator[None, None, None]:
        """Let the config's optimizer and rates stand in where the model has none."""
        module, settings = self.module, self.settings
        if settings is None or not settings.stands_in():
            yield
            return
        vars(module)["configure_optimizers"] = lambda: settings.optimizers(module)
        try:
            yield
        finally:
            del vars(module)["configure_optimizers"]


def _named(sharding: Any) -> str | None:
    """Return the name of a way to share, of a string or of a member of PyTorch's enumeration."""
    if sharding is None:
        return None
    name = str(getattr(sharding, "name", sharding)).upper()
    if name not in SHARDINGS:
        raise Error("E0101", f"there is no sharding '{name[:40]}'", hint=nearest(name, SHARDINGS))
    return name
