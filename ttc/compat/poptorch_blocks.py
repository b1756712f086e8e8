"""Annotations of PopTorch, which say what part of a model an IPU computes, as `ttc.stage`."""

from __future__ import annotations

from typing import Any

import torch

from ttc.marks.stages import stage


class IPU(torch.nn.Module):
    """The annotation `ttc.stage` around a layer, or as a statement in a model."""

    def __init__(self, ipu_id: int, layer_to_call: Any = None) -> None:
        super().__init__()
        self.ipu_id, self.layer_to_call = ipu_id, layer_to_call
        if layer_to_call is None:
            stage(ipu_id).start()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the layer in its stage."""
        with stage(self.ipu_id):
            return self.layer_to_call(*args, **kwargs)


_NUMBERS: dict[Any, int] = {}
"""Stages of blocks that name no IPU, in the order in which they were named."""


def _stage(user_id: Any, ipu_id: int | None) -> stage:
    """Return the stage of an IPU, or of a block that names none."""
    return stage(_NUMBERS.setdefault(user_id, len(_NUMBERS)) if ipu_id is None else ipu_id)


class Block:
    """`ttc.stage(n)`, whose number is that of the IPU, or of the block."""

    def __init__(self, user_id: Any = None, ipu_id: int | None = None) -> None:
        self._stage = _stage(user_id, ipu_id)

    def __enter__(self) -> None:
        self._stage.start()

    def __exit__(self, *_error: object) -> None:
        """Stay in the stage: the next one begins where it is marked."""

    @staticmethod
    def start(user_id: Any = None, ipu_id: int | None = None) -> None:
        """Put what follows into the stage."""
        _stage(user_id, ipu_id).start()

    @staticmethod
    def useAutoId() -> None:
        """Do nothing: blocks without a number get one anyway."""


def BeginBlock(layer_to_call: Any, user_id: Any = None, ipu_id: int | None = None) -> Any:
    """Mark a module in place: `ttc.stage(n)(module)`."""
    return _stage(user_id, ipu_id)(layer_to_call)


def BlockFunction(user_id: Any = None, ipu_id: int | None = None) -> Any:
    """Return a decorator that marks a function, as `@ttc.stage(n)` does."""
    return _stage(user_id, ipu_id)


BLOCKS = {"IPU": IPU, "Block": Block, "BeginBlock": BeginBlock, "BlockFunction": BlockFunction}
"""The annotations of PopTorch by name."""
