"""The names that checkpoints have for the tensors of a model, whichever processes hold them, and whatever becomes of them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record


@record(eq=False)
class ModelTensors:
    """Tensors of a model by the names that a checkpoint has for them.

    Args:
        all: names of those of all stages; a tensor that several have is there once, under its first name.
        here: those that this process's stages have.
        first: those of `here` that no stage before them has, in another process.
    """

    all: frozenset[str]
    here: Mapping[str, torch.Tensor]
    first: Mapping[str, torch.Tensor]


@record(eq=False)
class Names:
    """Where the tensors of a model's stages are.

    Args:
        places: stages, and paths in them, by name.
        own: stages of this process.
        foreign: a value that is no tensor, which no checkpoint holds.
    """

    places: Mapping[str, Sequence[tuple[int, str]]]
    own: Sequence[int]
    foreign: str | None

    @staticmethod
    def of(parts: Sequence[nn.Module], own: Sequence[int]) -> Names:
        """Name the tensors of stages, of which some are this process's, before parameters are cut.

        Stages that were not cut from one model may use a name for two tensors: those have the number of the stage before it.
        """
        places: dict[str, list[tuple[int, str]]] = {}
        names: dict[int, str] = {}
        foreign = None
        for number, part in enumerate(parts):
            for plain, tensor in part.state_dict(keep_vars=True).items():
                if not isinstance(tensor, torch.Tensor):
                    foreign = foreign or plain
                    continue
                if id(tensor) not in names:
                    names[id(tensor)] = f"{number}:{plain}" if plain in places else plain
                places.setdefault(names[id(tensor)], []).append((number, plain))
        return Names(places, tuple(own), foreign)

    def now(self, parts: Sequence[nn.Module]) -> ModelTensors:
        """Return the tensors that stages have now.  Raises E0103 for values that are none."""
        if self.foreign is not None:
            raise Error("E0103", f"'{self.foreign[:80]}' is no tensor, and a checkpoint holds no other values")
        states = {number: parts[number].state_dict(keep_vars=True) for number in self.own}
        here: dict[str, torch.Tensor] = {}
        for name, places in self.places.items():
            held = [states[number][plain] for number, plain in places if number in states]
            here.update({name: held[0]} if held else {})
        first = {name: tensor for name, tensor in here.items() if self.places[name][0][0] in states}
        return ModelTensors(frozenset(self.places), here, first)
