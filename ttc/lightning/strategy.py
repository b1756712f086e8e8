"""What strategies of several processes have in common: the mesh of the processes, and the model that they train."""

from __future__ import annotations

import os
from typing import Any

from lightning.pytorch import LightningModule
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import DDPStrategy
from torch.distributed.constants import default_pg_timeout

from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, mesh
from ttc.dist.processes import join


class MeshStrategy(DDPStrategy):
    """Lightning's processes as a mesh; how many lie along its dimensions is for a strategy to say.

    Args:   options: of Lightning's DDPStrategy.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._mesh: Mesh | None = None

    @property
    def mesh(self) -> Mesh:
        """The mesh of the processes. Raises E0101 before they have come together."""
        if self._mesh is None:
            raise Error("E0101", "processes have not come together yet", hint="they do when the Trainer begins")
        return self._mesh

    @property
    def module(self) -> LightningModule:
        """The model that is trained. Raises E0101 before a Trainer has one."""
        if self.lightning_module is None:
            raise Error("E0101", "there is no model yet", hint="it is there when the Trainer begins")
        return self.lightning_module

    @property
    def compiler(self) -> Accelerator:
        """The accelerator, which compiles steps.  Raises E0101 before a Trainer has one."""
        if self.accelerator is None:
            raise Error("E0101", "there is no accelerator yet", hint='Trainer(accelerator="ttc", strategy=...)')
        return self.accelerator

    @property
    def target(self) -> str | None:
        """The target that the accelerator compiles for; None: PyTorch runs the model."""
        return getattr(self.accelerator, "options", {}).get("target")

    def setup_distributed(self) -> None:
        """Join the processes of the run, and lay them out."""
        patience = (self._timeout or default_pg_timeout).total_seconds()
        if "TORCHELASTIC_RESTART_COUNT" in os.environ:
            join(patience)  # Lightning's own way meets addresses of processes that torchrun has started before
        super().setup_distributed()
        self._mesh = mesh(patience=patience, **self.sizes())

    def sizes(self) -> dict[str, int]:
        """Return how many processes lie along each dimension of the mesh."""
        return {"data": self.world_size}
