"""A script that trains with checkpoints, from the last one where there is one; it kills itself in a certain update if it is told to."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint

from tests.ttc.lightning.modules import trainer
from tests.ttc.lightning.sharing import NORM, Decayed, loader
from ttc.lightning import ShardedStrategy, TTCAccelerator

EPOCHS = 3


class Killed(Callback):
    """Ends the process as no handler of a signal can prevent."""

    def __init__(self, update: int) -> None:
        self.update = update

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step == self.update:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    folder, update, stage = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rank, processes = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    restarted = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    saving = ModelCheckpoint(folder, "{step}", save_last=True, every_n_epochs=1, save_on_train_epoch_end=True)
    path = folder / "last.ckpt"
    callbacks = [saving] if restarted or rank != processes - 1 else [saving, Killed(update)]
    options: dict[str, Any] = {"devices": processes, "use_distributed_sampler": False, "enable_checkpointing": True}
    if processes > 1:
        options["strategy"] = ShardedStrategy(stage)
    made = trainer(TTCAccelerator(fallback=False), *callbacks, max_epochs=EPOCHS, gradient_clip_val=NORM, **options)
    print(f"begins with a checkpoint: {path.exists()}", flush=True)
    model = Decayed()
    made.fit(model, loader(rank, processes), ckpt_path=path if path.exists() else None)
    state = made.strategy.lightning_module_state_dict()
    if rank == 0:
        torch.save(state, folder / "found.pt")
    print(f"process {rank} has ended after update {made.global_step}", flush=True)
    if processes > 1:
        from tests.ttc.dist.started import end

        end()


if __name__ == "__main__":
    main()
