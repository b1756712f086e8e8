"""The outputs of a compiled graph: values that it was given, values that a run has computed, and other views of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch


class GivenOutput(NamedTuple):
    """An output that is a placeholder, or (position -1) a plain value."""

    position: int
    value: Any = None

    def of(self, given: Sequence[Any], made: Mapping[str, torch.Tensor]) -> Any:
        """Return the output, given the values of placeholders."""
        return given[self.position] if self.position >= 0 else self.value


class ComputedOutput(NamedTuple):
    """An output that is computed; several of one name are one tensor."""

    name: str
    stride: tuple[int, ...] | None

    def of(self, given: Sequence[Any], made: Mapping[str, torch.Tensor]) -> Any:
        """Return the output, given the tensors that a run has computed."""
        return made[self.name]


class ViewOutput(NamedTuple):
    """An output that shows memory of a value which is computed; its strides and offset are counted in elements."""

    computed: ComputedOutput
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @property
    def name(self) -> str:
        """The name of the value that is computed."""
        return self.computed.name

    def of(self, given: Sequence[Any], made: Mapping[str, torch.Tensor]) -> Any:
        """Return the output, given the tensors that a run has computed."""
        return made[self.computed.name].as_strided(self.size, self.stride, self.offset)
