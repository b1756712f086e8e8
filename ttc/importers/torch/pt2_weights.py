"""Weights and constants of a `.pt2` archive: tensors over the mapped file; nothing is read before it is needed, nothing unpickled."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde.serialize import _SERIALIZE_TO_TORCH_DTYPE

from ttc.dialects.core.errors import Error
from ttc.importers.common.zipped import Zipped
from ttc.importers.torch.pt2_checks import check_path, clean_tensor
from ttc.importers.torch.pt2_types import MAX_JSON_BYTES, parsed, typed

MAX_REPEATED = 1 << 20
"""The most elements of a tensor beyond those stored, by strides of 0."""
_PREFIXES = {"weights": "weight_", "constants": "tensor_"}


def tensors_of(archive: Zipped, root: str, kind: str, model: str) -> dict[str, torch.Tensor]:
    """Return the tensors that a configuration lists, by their paths in the model.

    Args:
        root: the archive's folder, with a slash.
        kind: `weights` or `constants`.
        model: the program's name.
    Raises: E0203; E0202 for what is pickled.
    """
    folder = f"{root}data/{kind}/"
    if f"{folder}{model}.pt" in archive.members:
        raise Error("E0202", f"its {kind} are pickled, as PyTorch before 2.9 did", hint=_SAVE_AGAIN)
    name = f"{folder}{model}_{kind}_config.json"
    config = typed(schema.PayloadConfig, parsed(archive.read(name, MAX_JSON_BYTES), name), name).config
    return {path: _tensor(archive, folder, path, meta, _PREFIXES[kind]) for path, meta in config.items()}


_SAVE_AGAIN = "save it again with PyTorch 2.9 or later: torch.export.save(torch.export.load(old), 'new.pt2')"


def _tensor(archive: Zipped, folder: str, path: str, payload: schema.PayloadMeta, prefix: str) -> torch.Tensor:
    check_path(path)
    meta = payload.tensor_meta
    number = payload.path_name.removeprefix(prefix)
    if payload.use_pickle or meta is None or number == payload.path_name or not (number.isascii() and number.isdigit()):
        raise Error("E0202", f"'{path}' is pickled, or a custom object; it is not read", hint="keep plain tensors in the module")
    clean_tensor(meta)
    sizes, strides = _ints(meta.sizes, path), _ints(meta.strides, path)
    (offset,) = _ints([meta.storage_offset], path)
    dtype = _SERIALIZE_TO_TORCH_DTYPE.get(meta.dtype)
    if dtype is None:
        raise Error("E0203", f"'{path}' has no dtype")
    elements = prod(sizes)
    if not elements:
        return torch.empty(sizes, dtype=dtype)
    stored = _stored(archive.view(folder + payload.path_name), dtype, path)
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if last >= stored.numel() or elements > stored.numel() + MAX_REPEATED:
        raise Error("E0203", f"'{path}' needs {last + 1} elements, and {stored.numel()} are stored")
    found = torch.as_strided(stored, sizes, strides, offset)
    return torch.nn.Parameter(found, requires_grad=False) if payload.is_param else found


def _stored(data: memoryview, dtype: torch.dtype, path: str) -> torch.Tensor:
    """Return all elements of a member; its file's own memory where they are aligned."""
    size = dtype.itemsize
    if not len(data) or len(data) % size:
        raise Error("E0203", f"'{path}' is stored in {len(data)} bytes, which hold no whole elements of {dtype}")
    flat = torch.frombuffer(data, dtype=torch.uint8)
    return (flat if flat.data_ptr() % size == 0 else flat.clone()).view(dtype)


def _ints(values: list[Any], path: str) -> list[int]:
    if any(v.type != "as_int" for v in values):
        raise Error("E0203", f"'{path}' has sizes that are not numbers")
    return [v.as_int for v in values]
