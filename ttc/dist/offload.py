"""States of optimizers in mapped files: the system may take their pages out of memory, as it does with those of any file."""

from __future__ import annotations

from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.utils.weak import WeakIdKeyDictionary

from ttc.dialects.core.errors import Error


def offload_states(optimizer: torch.optim.Optimizer, folder: Path) -> None:
    """Move tensors of an optimizer's state to files after each step that made them; updates in place stay there.

    Args:
        optimizer: of PyTorch, whose states appear in its first step.
        folder: on a disk.  Its files have no names once they are mapped: they end with the process, however it does.
    """
    mapped = WeakIdKeyDictionary()

    def move(moved: torch.optim.Optimizer, *_: Any) -> None:
        for state in moved.state.values():
            for key, value in state.items():
                if isinstance(value, torch.Tensor) and value.ndim and value.numel() and value not in mapped:
                    state[key] = _in_file(value, folder)
                    mapped[state[key]] = True

    optimizer.register_step_post_hook(move)


def _in_file(value: torch.Tensor, folder: Path) -> torch.Tensor:
    if not isinstance(value, DTensor):
        return _mapped(value, folder)
    local = value.to_local()
    if not local.numel():
        return value
    return DTensor.from_local(
        _mapped(local, folder), value.device_mesh, value.placements, run_check=False, shape=value.shape, stride=value.stride()
    )


def _mapped(value: torch.Tensor, folder: Path) -> torch.Tensor:
    """Return a tensor of the same values in a file without a name.  Raises E0103 where the folder has no room."""
    try:
        with NamedTemporaryFile(dir=folder, prefix="ttc-states-") as file:
            for chunk in value.detach().contiguous().reshape(-1).view(torch.uint8).split(1 << 24):
                file.write(chunk.numpy().data)  # written, not only mapped: a full disk is an error here, and no signal later
            file.flush()
            made = torch.from_file(file.name, shared=True, size=value.numel(), dtype=value.dtype)
    except OSError as error:
        raise Error(
            "E0103", f"cannot keep states of the optimizer: {error.strerror}", str(folder), hint="offload=None: in memory"
        ) from None
    return made.view(value.shape)
