"""The processes of a run as a mesh of named dimensions: replicas, stages of a pipeline, and shares of tensors."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import cast

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.distributed_c10d import _set_pg_timeout
from torch.distributed.rendezvous import rendezvous

from ttc.dialects.core.errors import Error, nearest

DIMENSIONS = ("data", "pipe", "tensor", "shard")
"""Names that a dimension can have: replicas of the model, stages of it, shares of tensors, and replicas that `ttc.dist.shard` cuts."""
PATIENCE = 20.0
"""How many seconds a process waits for another one: with what a launcher takes to end the others, less than a minute."""


class Mesh:
    """The processes of a run by their coordinates, in the order in which `mesh` was given the dimensions, outermost first.

    Args:
        device_mesh: of PyTorch, with the dimensions that were given.
        patience: seconds that a process waits for another one.
    """

    def __init__(self, device_mesh: DeviceMesh, patience: float = PATIENCE) -> None:
        self.device_mesh = device_mesh
        self.patience = patience
        groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
        self._alone = cast(dist.ProcessGroup, groups[dist.get_rank()])
        both = self._has("data") and self._has("shard")
        self._replicas = self._of_names(("data", "shard"))._flatten() if both else None
        self.wait(timedelta(seconds=patience))

    @property
    def rank(self) -> int:
        """The number of this process among all."""
        return dist.get_rank()

    def size(self, dimension: str) -> int:
        """Return how many processes lie along a dimension; 1 for one that was not given.  Raises E0101 for an unknown one."""
        return self._of(dimension).size() if self._has(dimension) else 1

    def coordinate(self, dimension: str) -> int:
        """Return where along a dimension this process is, counted from 0.  Raises E0101 for an unknown one."""
        return self._of(dimension).get_local_rank() if self._has(dimension) else 0

    def is_first(self, dimension: str) -> bool:
        """Return whether this process is the first one along a dimension."""
        return self.coordinate(dimension) == 0

    def is_last(self, dimension: str) -> bool:
        """Return whether this process is the last one along a dimension."""
        return self.coordinate(dimension) == self.size(dimension) - 1

    def ranks(self, dimension: str) -> list[int]:
        """Return the processes that differ from this one in a dimension alone, itself among them, in order."""
        return dist.get_process_group_ranks(self.group(dimension)) if self._has(dimension) else [self.rank]

    def group(self, dimension: str) -> dist.ProcessGroup:
        """Return the process group of `ranks`.  Raises E0101 for a dimension that was not given."""
        if not self._has(dimension):
            raise Error(
                "E0101", f"the mesh has no dimension '{dimension}'", hint=f"it has {', '.join(self.device_mesh.mesh_dim_names or ())}"
            )
        return self._of(dimension).get_group()

    def replicas(self) -> int:
        """Return how many processes have rows of their own for the parameters of this one."""
        return self.size("data") * self.size("shard")

    def replica_group(self) -> dist.ProcessGroup:
        """Return the process group of those that `replicas` counts.  Raises E0101 for a mesh without dimension `data`."""
        return self.group("data") if self._replicas is None else self._replicas.get_group()

    def sharers(self) -> DeviceMesh:
        """Return the processes that share what is cut: along `shard` where that was given, else `data`.  Raises E0101 without either."""
        name = "shard" if self._has("shard") else "data"
        self.group(name)
        return self._of(name)

    def is_first_group(self) -> bool:
        """Return whether this process is in the first one of the groups of `sharers`, of which each has everything."""
        return not self._has("shard") or self.is_first("data")

    def cut_mesh(self) -> DeviceMesh:
        """Return the processes among which parameters are cut, as PyTorch takes them: `sharers`, in each of the replicas along `data`."""
        return self.sharers() if self._replicas is None else self._of_names(("data", "shard"))

    def pipe_group(self) -> dist.ProcessGroup:
        """Return the group of a pipeline: of this process alone where there is no dimension `pipe`."""
        return self.group("pipe") if self._has("pipe") else self._alone

    def wait(self, seconds: timedelta | None = None) -> None:
        """Let communication from now on wait for other processes for so long; None: for as long as the mesh is patient."""
        groups = [self.group(name) for name in self.device_mesh.mesh_dim_names or ()]
        for group in groups if self._replicas is None else [*groups, self._replicas.get_group()]:
            _set_pg_timeout(seconds or timedelta(seconds=self.patience), group)

    @contextmanager
    def waiting(self, seconds: timedelta) -> Iterator[None]:
        """Let communication of a block wait for other processes for so long."""
        self.wait(seconds)
        try:
            yield
        finally:
            self.wait()

    def _of_names(self, names: tuple[str, ...]) -> DeviceMesh:
        return self.device_mesh if self.device_mesh.mesh_dim_names == names else self.device_mesh[names]

    def _has(self, dimension: str) -> bool:
        if dimension not in DIMENSIONS:
            raise Error("E0101", f"there is no dimension '{str(dimension)[:40]}'", hint=nearest(str(dimension), DIMENSIONS))
        return dimension in (self.device_mesh.mesh_dim_names or ())

    def _of(self, dimension: str) -> DeviceMesh:
        return self.device_mesh if self.device_mesh.ndim == 1 else self.device_mesh[dimension]


def mesh(*, patience: float = PATIENCE, **sizes: int) -> Mesh:
    """Make the mesh of all processes of a run, which `torchrun` or another launcher has started; a script alone is one process.

    Args:
        patience: seconds that a process waits for another one before both end with an error.
        sizes: of data, pipe, tensor and shard, outermost first; without `data`, replicas are what is left of the processes, outermost.
    Raises: E0101 for unknown dimensions, or sizes whose product is not the number of processes.
    """
    join(patience)
    world = dist.get_world_size()
    for name, size in sizes.items():
        if name not in DIMENSIONS:
            raise Error("E0101", f"there is no dimension '{name[:40]}'", hint=nearest(name, DIMENSIONS))
        if type(size) is not int or size < 1:
            raise Error("E0101", f"dimension '{name}' cannot have size {size!r}", hint="1 or more processes")
    product = 1
    for size in sizes.values():
        product *= size
    if "data" not in sizes and not world % product:
        sizes, product = {"data": world // product, **sizes}, world
    if product != world:
        shape = " x ".join(f"{name} {size}" for name, size in sizes.items())
        raise Error("E0101", f"a mesh of {shape} has {product} processes, not {world}", hint=f"torchrun --nproc-per-node {product}")
    made = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
    return Mesh(made, patience)


def join(patience: float) -> None:
    """Join the other processes, unless the script has."""
    if dist.is_initialized():
        return
    timeout = timedelta(seconds=patience)
    if "RANK" in os.environ:
        store, rank, world = next(rendezvous("env://", timeout=timeout))
        # torchrun keeps the store when it starts processes again: without names of their own they meet addresses of those that ended
        name = f"ttc/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{world}"
        attempt = dist.PrefixStore(name, store)  # pyright: ignore[reportPrivateImportUsage] - documented there
        dist.init_process_group("gloo", store=attempt, rank=rank, world_size=world, timeout=timeout)
    else:
        store = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage] - documented there
        dist.init_process_group("gloo", store=store, rank=0, world_size=1, timeout=timeout)
    atexit.register(_leave)


def _leave() -> None:
    """End threads of communication while the interpreter is whole: one that meets them as it ends may abort the process."""
    if dist.is_initialized():
        dist.destroy_process_group()
