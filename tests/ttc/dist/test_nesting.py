"""Structures of tensors come back from text as they were, and no other text is taken."""

from __future__ import annotations

import pytest
import torch

from ttc.dialects.core.errors import Error
from ttc.dist.nesting import signature_of, stored_signature, torch_dtype
from ttc.dist.signatures import Signature
from ttc.runtime.stage_archive import StoredLeaf, StoredSignature

LEAF = StoredLeaf((2, 3), "float32", True)


@pytest.mark.parametrize(
    "value",
    [
        torch.zeros(2),
        (torch.zeros(2, 3).requires_grad_(), torch.zeros(1, dtype=torch.bfloat16)),
        {"a": [torch.zeros(2, dtype=torch.int64)], "b": ({"c": torch.zeros(())}, torch.zeros(0, 3))},
        (),
    ],
    ids=["one", "pair", "nested", "nothing"],
)
def test_signatures_come_back(value: object) -> None:
    signature = Signature.of(value)
    assert signature_of(stored_signature(signature)) == signature


@pytest.mark.parametrize(
    "structure",
    ["", "[0]", '{"set": [0]}', '{"tuple": 0}', '{"dict": [0]}', '{"tuple": [1]}', '{"tuple": [0, 1]}', '{"list": []}', "true", '"0"'],
)
def test_other_text(structure: str) -> None:
    with pytest.raises(Error, match="E0703"):
        signature_of(StoredSignature((LEAF,), structure))


def test_deep_text() -> None:
    with pytest.raises(Error, match="E0703"):
        signature_of(StoredSignature((LEAF,), '{"list": [' * 40 + "0" + "]}" * 40))


@pytest.mark.parametrize("name", ["float33", "object", "str", "__name__", "complex64"])
def test_types_that_there_are_not(name: str) -> None:
    with pytest.raises(Error, match="E0703"):
        torch_dtype(name)
