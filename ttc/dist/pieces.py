"""Rows of tensors that processes share: which of them a process has, and how files of a checkpoint are put together to whole tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from ttc.dialects.core.records import record
from ttc.runtime.machine.checkpoint import damaged

Firsts: TypeAlias = "dict[str, str]"
"""The first row of pieces, by the name of the tensor, as metadata of a file has it."""


@record(eq=False)
class SavedTensor:
    """A tensor of a checkpoint, of which a process has read the rows that it wants.

    Args:
        shape: of the whole tensor.
        value: those rows.
    """

    shape: tuple[int, ...]
    value: torch.Tensor


@record
class RowRange:
    """The rows of a tensor that a process has: those from `first` to before `end`."""

    first: int
    end: int

    @staticmethod
    def of(tensor: torch.Tensor) -> RowRange | None:
        """Return the rows that this process has of a tensor; None: it has the whole of it."""
        if not isinstance(tensor, DTensor):
            return None
        shape, offset = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
        return RowRange(offset[0], offset[0] + shape[0])


def pieces(tensors: Mapping[str, torch.Tensor]) -> tuple[dict[str, torch.Tensor], Firsts]:
    """Return what this process has of tensors, and where pieces begin."""
    found: dict[str, torch.Tensor] = {}
    firsts: Firsts = {}
    for name, tensor in tensors.items():
        rows = RowRange.of(tensor)
        found[name] = local_part(tensor)
        if rows is not None:
            firsts[name] = str(rows.first)
    return found, firsts


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Return the part of a tensor that this process has, in the tensor's own memory."""
    tensor = tensor.detach()
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def zeros_of_part(whole: torch.Tensor, cut: DeviceMesh | None) -> torch.Tensor:
    """Return zeros like the parts that this process has of tensors of this shape where they are cut.

    Args:
        whole: a tensor that is not cut.
        cut: the processes among which rows are cut, along its last dimension; None: each has all of them.
    """
    if cut is None:
        return torch.zeros(whole.shape, dtype=whole.dtype)  # of stages of others there may be no more than this
    placements = [*[Replicate()] * (cut.ndim - 1), Shard(0)]
    shape, _ = compute_local_shape_and_global_offset(whole.shape, cut, placements)
    return torch.zeros(shape, dtype=whole.dtype)


def shared_like(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return rows of this process as a tensor that is shared as another one is, of the same shape."""
    if not isinstance(like, DTensor) or not value.ndim:
        return value
    return DTensor.from_local(value, like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride())


@record(eq=False)
class _Piece:
    first: int
    shape: tuple[int, ...]
    kind: str
    value: torch.Tensor


class Collected:
    """What is read of a tensor from several files.

    Args:
        name: of the tensor in the files.
        rows: that are wanted; None: all.
    """

    def __init__(self, name: str, rows: RowRange | None) -> None:
        self._name, self._rows = name, rows
        self._pieces: list[_Piece] = []
        self._is_whole = False

    def add(self, stored: Any, first: str | None) -> None:
        """Read what is wanted of a piece.

        Args:
            stored: a slice of the format's library.
            first: row of the piece, as metadata have it; None: it is the whole tensor.
        Raises: E0807 for a row that is none, and for pieces of what is whole.
        """
        shape = tuple(stored.get_shape())
        self._is_whole = self._is_whole or first is None
        if self._is_whole and self._pieces:
            raise damaged(f"'{self._name[:80]}' is in two files")
        if first is not None and not (len(first) <= 18 and first.isdecimal() and first.isascii() and shape):
            raise damaged(f"the first row of a piece of '{self._name[:80]}' is no number of a row")
        begin = int(first or 0)
        self._pieces.append(_Piece(begin, shape, stored.get_dtype(), self._read(stored, begin, shape)))

    def _read(self, stored: Any, begin: int, shape: tuple[int, ...]) -> torch.Tensor:
        if self._rows is None or not shape:
            return stored[...]
        first, end = max(self._rows.first, begin), min(self._rows.end, begin + shape[0])
        return stored[first - begin : end - begin] if first < end else stored[0:0]

    def put_together(self) -> SavedTensor:
        """Return the tensor.  Raises E0807 unless its pieces are all there, once."""
        found = sorted(self._pieces, key=lambda piece: piece.first)
        begin, *others = found
        if not begin.shape:
            return SavedTensor((), begin.value)
        end = 0
        for piece in found:
            if piece.first != end or piece.shape[1:] != begin.shape[1:] or piece.kind != begin.kind:
                raise damaged(f"rows of '{self._name[:80]}' are missing, or there twice")
            end += piece.shape[0]
        return SavedTensor((end, *begin.shape[1:]), torch.cat([piece.value for piece in found]) if others else begin.value)
