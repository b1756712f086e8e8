"""The stand-in for TT-NN on a mesh of chips: every call is made once a chip."""

from __future__ import annotations

from typing import Any

import torch

from tests.ttc.exporters.ttnn import stand_in


class Parts:
    """What each chip has."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


class OnMesh:
    """A name of the stand-in, on a mesh of chips."""

    def __init__(self, chips: int, value: Any = stand_in) -> None:
        self.chips, self.value = chips, value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        own = {"from_torch": self.spread, "to_torch": self.gathered, "ShardTensorToMesh": dimension, "ConcatMeshToTensor": dimension}
        own |= {"all_reduce": all_reduce, "all_gather": all_gather, "mesh_partition": self.mesh_partition}
        own |= {"reduce_scatter": reduce_scatter}
        return own.get(name) or OnMesh(self.chips, getattr(self.value, name))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return joined([self.value(*of(arguments, chip), **of(keywords, chip)) for chip in range(self.chips)])

    def spread(self, tensor: torch.Tensor, *, mesh_mapper: Any = None, **keywords: Any) -> Parts:
        dim = mesh_mapper if isinstance(mesh_mapper, int) else None
        parts = [tensor] * self.chips if dim is None else tensor.tensor_split(self.chips, dim)
        assert len({part.shape for part in parts}) == 1, "each chip gets as many rows"
        return Parts([stand_in.from_torch(part, **of(keywords, chip)) for chip, part in enumerate(parts)])

    def gathered(self, tensor: Parts, *, mesh_composer: int) -> torch.Tensor:
        return torch.cat([stand_in.to_torch(part) for part in tensor.values], mesh_composer)

    def mesh_partition(self, x: Parts, dim: int, *, memory_config: str) -> Parts:
        values = x.values[0]
        assert all(torch.equal(part.values, values.values) for part in x.values), "all chips have the same"
        parts = values.values.tensor_split(self.chips, dim)
        assert len({part.shape for part in parts}) == 1
        return Parts([stand_in.made(part, values, values.dtype) for part in parts])


def all_reduce(x: Parts, *, memory_config: str) -> Parts:
    total = torch.stack(stand_in.tiles(*x.values)).sum(0)
    return Parts([stand_in.made(total, part) for part in x.values])


def reduce_scatter(x: Parts, dim: int, *, memory_config: str) -> Parts:
    total = torch.stack(stand_in.tiles(*x.values)).sum(0)
    parts = total.tensor_split(len(x.values), dim)
    assert len({part.shape for part in parts}) == 1
    return Parts([stand_in.made(part, old) for part, old in zip(parts, x.values, strict=True)])


def all_gather(x: Parts, dim: int, *, memory_config: str) -> Parts:
    whole = torch.cat(stand_in.tiles(*x.values), dim)
    return Parts([stand_in.made(whole, part) for part in x.values])


def dimension(device: Any, dim: int) -> int:
    return dim


def of(value: Any, chip: int) -> Any:
    """What one chip has of arguments."""
    match value:
        case Parts():
            return value.values[chip]
        case OnMesh():
            return value.value
        case dict():
            return {key: of(item, chip) for key, item in value.items()}
        case list() | tuple():
            return type(value)(of(item, chip) for item in value)
        case _:
            return value


def joined(values: list[Any]) -> Any:
    """One value of those of all chips; of tuples and lists one of such."""
    if isinstance(values[0], list | tuple):
        return type(values[0])(joined(list(items)) for items in zip(*values, strict=True))
    return Parts(values)
