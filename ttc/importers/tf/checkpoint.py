"""The variables of a SavedModel: tensors of the checkpoint in its folder `variables`, mapped and read when asked for."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.importers.common.beneath import map_beneath
from ttc.importers.tf.messages import Span, shape_of
from ttc.importers.tf.sstable import table
from ttc.importers.tf.tensors import DTYPES, raw_weight, static_shape

FOLDER, STEM = "variables", "variables"
MAX_SHARDS = 1 << 12


class TfCheckpoint(Mapping[str, Weight]):
    """The tensors of a checkpoint by key, except those of types that nn has not, such as texts.

    Args:
        folder: of the SavedModel.
    Raises: E0102, E0201, E0203, E0204.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, mmap.mmap | bytes] = {}
        self._left: dict[int, int] = {}
        self._shards = 1
        self._weights: dict[str, Weight] = {}
        index = self._open(f"{STEM}.index")
        for key, start, end in table(index):
            if key:
                self._add(key.decode(errors="replace"), Span(index, start, end))
            else:
                self._header(Span(index, start, end))

    def __getitem__(self, key: str) -> Weight:
        return self._weights[key]

    def __iter__(self):
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def _header(self, span: Span) -> None:
        """Read the BundleHeaderProto: number of shards and order of bytes."""
        found = {item.number: span.number(item) for item in span if item.number in (1, 2)}
        self._shards = found.get(1, 0)
        if found.get(2, 0) != 0:
            raise Error("E0202", "the variables are stored with the highest byte first, which is not supported")
        if not 1 <= self._shards <= MAX_SHARDS:
            raise Error("E0201", f"the variables lie in {self._shards} files")

    def _add(self, key: str, span: Span) -> None:
        """A BundleEntryProto.  Parts of a variable that is stored in slices are found as tensors of their own, so that it is left out."""
        what = f"variable '{key}'"
        code, shard, offset, size, dims, sliced = 0, 0, 0, 0, (), False
        for item in span:
            if item.number == 1:
                code = span.number(item)
            elif item.number == 2:
                dims = shape_of(span.inside(item))
            elif item.number == 3:
                shard = span.number(item)
            elif item.number == 4:
                offset = span.number(item)
            elif item.number == 5:
                size = span.number(item)
            elif item.number == 7:
                sliced = True
        if code not in DTYPES or sliced:
            return
        shape = static_shape(dims, what)
        data = self._shard(shard, what)
        if offset < 0 or size < 0 or offset + size > len(data):
            raise Error("E0203", f"{what}: bytes {offset} to {offset + size} lie past the end of its file ({len(data)} bytes)")
        self._left[shard] -= size
        if self._left[shard] < 0:
            raise Error("E0203", f"{what} shares its bytes with others: they take more than their file's {len(data)} bytes together")
        self._weights[key] = raw_weight(data, offset, size, DTYPES[code], shape, what)

    def _shard(self, shard: int, what: str) -> mmap.mmap | bytes:
        if not 0 <= shard < self._shards:
            raise Error("E0203", f"{what} lies in file {shard} of {self._shards}")
        if shard not in self._files:
            self._files[shard] = self._open(f"{STEM}.data-{shard:05}-of-{self._shards:05}")
            self._left[shard] = len(self._files[shard])
        return self._files[shard]

    def _open(self, name: str) -> mmap.mmap | bytes:
        what = f"{FOLDER}/{name}"
        try:
            return map_beneath(self._folder, (FOLDER, name), what)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Error("E0204", f"{what} cannot be read: {reason}") from error
