"""How tensors between stages nest, as text that an archive holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dist.signatures import Leaf, Signature
from ttc.importers.torch.dtypes import TORCH_DTYPES, dtype_of
from ttc.runtime.stage_archive import StoredLeaf, StoredSignature

_MAX_DEPTH = 32


def stored_leaf(leaf: Leaf) -> StoredLeaf:
    """Return the form and type of a tensor as an archive holds them."""
    return StoredLeaf(leaf.shape, str(dtype_of(leaf.dtype)), leaf.has_gradient)


def leaf_of(stored: StoredLeaf) -> Leaf:
    """Return the form and type of a tensor of an archive.  Raises E0703 for a type that there is not."""
    return Leaf(stored.shape, torch_dtype(stored.dtype), stored.gradient)


def torch_dtype(name: str) -> torch.dtype:
    """Return PyTorch's type of numpy's name.  Raises E0703."""
    try:
        return TORCH_DTYPES[np.dtype(getattr(ml_dtypes, name, name))]
    except (TypeError, KeyError):
        raise Error("E0703", f"there are no tensors of type '{name[:40]}'") from None


def stored_signature(signature: Signature) -> StoredSignature:
    """Return a signature as an archive holds it.  Raises E0801 for what is nested in anything but tuples, lists and mappings."""
    numbers = list(range(len(signature.leaves)))
    structure = json.dumps(_plain(pytree.tree_unflatten(numbers, signature.structure)))
    return StoredSignature(tuple(map(stored_leaf, signature.leaves)), structure)


def signature_of(stored: StoredSignature) -> Signature:
    """Return the signature that an archive holds.  Raises E0703."""
    leaves = tuple(map(leaf_of, stored.leaves))
    try:
        numbers, structure = pytree.tree_flatten(_nested(json.loads(stored.structure), _MAX_DEPTH))
    except (ValueError, TypeError, RecursionError):
        raise Error("E0703", "the nesting of tensors between stages is malformed") from None
    if numbers != list(range(len(leaves))):
        raise Error("E0703", "the nesting of tensors between stages does not name each tensor once, in order")
    return Signature(leaves, structure)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return value
    if kind in (tuple, list):
        return {kind.__name__: [_plain(item) for item in value]}
    if kind is dict and all(isinstance(key, str) for key in value):
        return {"dict": [[key, _plain(item)] for key, item in value.items()]}
    raise Error("E0801", f"a {kind.__name__} passes between stages, which no archive holds", hint="tuples, lists and dictionaries can")


def _nested(plain: Any, depth: int) -> Any:
    """Return what `_plain` was given.  Raises ValueError, TypeError for other text."""
    if type(plain) is int:
        return plain
    ((kind, items),) = plain.items() if isinstance(plain, dict) else ((None, None),)
    if kind not in ("tuple", "list", "dict") or not isinstance(items, list) or not depth:
        raise ValueError(kind)
    if kind == "dict":
        return {str(key): _nested(item, depth - 1) for key, item in _pairs(items)}
    found = [_nested(item, depth - 1) for item in items]
    return tuple(found) if kind == "tuple" else found


def _pairs(items: Sequence[Any]) -> Sequence[Any]:
    if not all(isinstance(item, list) and len(item) == 2 for item in items):
        raise ValueError(items)
    return items
