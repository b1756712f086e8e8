"""The stand-in for TT-NN with a record of what is asked of it, in the words in which the real TT-NN's answers are kept."""

from __future__ import annotations

from typing import Any

from tests.ttc.exporters.ttnn import stand_in
from tests.ttc.exporters.ttnn.calls import Named, Opaque, call_text, result_text

LAYOUTS = {stand_in.TILE_LAYOUT: "TILE", stand_in.ROW_MAJOR_LAYOUT: "ROW_MAJOR"}
TRANSFERS = ("ttnn.from_torch", "ttnn.to_torch", "ttnn.ShardTensorToMesh", "ttnn.ReplicateTensorToMesh")
"""Functions that are not asked of the real TT-NN: they take tensors of torch."""


class Shown(Opaque):
    """An object of the stand-in."""

    def __init__(self, value: Any) -> None:
        self.value, self.facts = value, {}
        if isinstance(value, stand_in.Tensor):
            self.facts = {"shape": value.shape, "dtype": value.dtype, "layout": LAYOUTS[value.layout]}


class AskedName(Named):
    """A name of the stand-in.  answers: calls of it, and what they gave, as text."""

    def __init__(self, path: str, value: Any, answers: list[tuple[str, str]]) -> None:
        self.path, self.value, self.answers = path, value, answers

    def __getattr__(self, name: str) -> AskedName:
        if name.startswith("__"):
            raise AttributeError(name)
        return AskedName(f"{self.path}.{name}", getattr(self.value, name), self.answers)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        result = self.value(*map(plain, arguments), **{key: plain(value) for key, value in keywords.items()})
        if self.path in TRANSFERS:
            return result
        seen = [shown(value) for value in arguments], {key: shown(value) for key, value in keywords.items()}
        found = result if isinstance(result, stand_in.Tensor | tuple) else Shown(result)
        self.answers.append((call_text(self.path, *seen), result_text(shown(found))))
        return found


class AskedDevice(stand_in.Device):
    """The stand-in's device, which tells nothing of itself."""

    def arch(self) -> Any:
        return Shown(super().arch())


def shown(value: Any) -> Any:
    """A value as the record tells it."""
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    return Shown(value) if isinstance(value, stand_in.Tensor | stand_in.Device) else value


def plain(value: Any) -> Any:
    """A value as the stand-in takes it."""
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value)
    return value.value if isinstance(value, Shown | AskedName) else value
