"""How replicas share what each of them would hold whole: states of optimizers, gradients and parameters; PyTorch's engines do it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dist.compiling import compile_unit
from ttc.dist.offload import offload_states
from ttc.dist.processes import Mesh

STAGES = {
    0: "nothing: each replica has all",
    1: "states of the optimizer",
    2: "states of the optimizer and gradients",
    3: "states of the optimizer, gradients and parameters",
}
"""What replicas share, by the numbers that ZeRO has for it."""


@record(eq=False)
class Sharding:
    """What replicas share, and where states of optimizers lie.

    Args:
        stage: of `STAGES`.
        offload: a folder for states of optimizers, in mapped files that the system may take out of memory; `cpu`, or None: memory.
        units: classes of modules whose parameters are gathered apart from others, one module after another, in stages 2 and 3.
    Raises: E0101 for a stage, folder or unit that there cannot be.
    """

    stage: int = 0
    offload: Path | None = None
    units: tuple[type[nn.Module], ...] = ()

    @staticmethod
    def of(stage: int, offload: str | Path | None, units: Sequence[type[nn.Module]]) -> Sharding:
        """Check options as a user gives them.  Raises E0101."""
        if type(stage) is not int or stage not in STAGES:
            raise Error("E0101", f"there is no stage {stage!r} of sharding", hint="; ".join(f"{n}: {what}" for n, what in STAGES.items()))
        kinds = tuple(units)
        if not all(isinstance(kind, type) and issubclass(kind, nn.Module) for kind in kinds):
            raise Error("E0101", "units are classes of modules", hint="units=(Block,)")
        folder = None if offload is None or offload == "cpu" else Path(offload)
        if folder is not None and not folder.is_dir():
            raise Error("E0101", f"states of optimizers cannot be kept in '{folder}'", hint='an existing folder, or "cpu": memory')
        return Sharding(stage, folder, kinds)

    def is_cut(self, mesh: Mesh) -> bool:
        """Return whether gradients and parameters are cut, in this mesh."""
        return self.stage >= 2 and mesh.replicas() > 1


def replicated(module: nn.Module, mesh: Mesh, sharding: Sharding, target: str | None) -> nn.Module:
    """Return what runs a module for all replicas, so that a backward pass gives the mean of their gradients.

    Args:
        module: with the same parameters in all replicas.  In stages 2 and 3 its parameters are cut in place: they are others afterwards.
        target: that units are compiled for; None: PyTorch runs them.
    """
    if mesh.replicas() == 1 or not any(p.requires_grad for p in module.parameters()):
        return module
    if not sharding.is_cut(mesh):
        return DistributedDataParallel(module, process_group=mesh.replica_group(), forward_sync_buffers=False)
    among = mesh.cut_mesh()
    for unit in _units(module, sharding.units):
        fully_shard(unit, mesh=among, reshard_after_forward=sharding.stage == 3)
        compile_unit(unit, target)
    fully_shard(module, mesh=among, reshard_after_forward=sharding.stage == 3)
    return module


def sharing_optimizer(
    kind: type[torch.optim.Optimizer], groups: Sequence[Any], mesh: Mesh, sharding: Sharding, options: dict[str, Any]
) -> torch.optim.Optimizer:
    """Return an optimizer whose states lie where the sharding says: in stage 1 those of each parameter in one of the replicas.

    Args:
        kind: class of the optimizer, which treats each parameter alone.
        groups: parameters, or groups of them; with none, the optimizer does nothing.
        options: of the class.
    """
    groups = [dict(group) if isinstance(group, dict) else group for group in groups]
    groups = groups or [nn.Parameter(torch.zeros(1))]  # a stage without parameters: PyTorch refuses an optimizer of none
    if sharding.stage != 1 or mesh.replicas() == 1:
        made = kind(groups, **options)
    else:
        made = ZeroRedundancyOptimizer(groups, kind, process_group=mesh.sharers().get_group(), **options)
    if sharding.offload is not None:
        offload_states(own_optimizer(made), sharding.offload)
    return made


def own_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Return the optimizer of PyTorch that has the states of this process."""
    return optimizer.optim if isinstance(optimizer, ZeroRedundancyOptimizer) else optimizer


def reshard(modules: Iterable[nn.Module]) -> None:
    """Let go of parameters that were gathered for a pass which no backward pass follows: the next one gathers them anew."""
    for module in modules:
        for inner in module.modules():
            if isinstance(inner, FSDPModule):
                inner.reshard()


def _units(module: nn.Module, kinds: tuple[type[nn.Module], ...]) -> Iterator[nn.Module]:
    """Modules of the classes, inner ones first; those that share a parameter with others are no units, as all must be gathered at once."""
    users = _users(module)
    for inner in reversed(list(module.modules())):
        if inner is module or not isinstance(inner, kinds):
            continue
        within = _users(inner)
        if within and all(users[parameter] == count for parameter, count in within.items()):
            yield inner


def _users(module: nn.Module) -> Counter[nn.Parameter]:
    """Return how many modules have each parameter themselves."""
    return Counter(parameter for inner in module.modules() for parameter in inner.parameters(recurse=False))
