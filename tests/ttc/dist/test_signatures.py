"""Shapes and types of what passes between stages are found without computing."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dist.signatures import Shapes, Signature, hash_of, microbatch_of, outputs_for

NESTED = {
    "value": torch.ones(2, 3, requires_grad=True),
    "more": (torch.zeros(2, dtype=torch.int64), [torch.ones(2, 1, dtype=torch.bfloat16)]),
}


def test_a_signature_is_read_as_it_was_written() -> None:
    signature = Signature.of(NESTED)
    assert Signature.read(signature.text()) == signature
    assert [(leaf.shape, leaf.dtype, leaf.has_gradient) for leaf in signature.leaves] == [
        ((2, 3), torch.float32, True),
        ((2,), torch.int64, False),
        ((2, 1), torch.bfloat16, False),
    ]


def test_what_is_no_tensor() -> None:
    with pytest.raises(Error, match="E0801"):
        Signature.of({"value": 3})


@pytest.mark.parametrize("copied", [False, True])
def test_outputs_are_found_and_statistics_stay(copied: bool) -> None:
    layer = nn.BatchNorm1d(3)
    shapes = Shapes(layer)
    call, mode = (shapes.module, shapes.mode) if copied else (layer, None)
    found = outputs_for(call, Signature.of((torch.ones(4, 3),)), {}, training=True, mode=mode)
    assert [(leaf.shape, leaf.has_gradient) for leaf in found.leaves] == [((4, 3), True)]
    assert float(layer.running_mean.sum() if layer.running_mean is not None else 1) == 0  # nothing was computed


@pytest.mark.parametrize(
    ("rows", "microbatches", "hint"), [(8, 3, "give 6 rows, or 9"), (0, 2, "give 2 rows, or 4"), (1, 2, "give 2 rows")]
)
def test_rows_that_do_not_divide(rows: int, microbatches: int, hint: str) -> None:
    with pytest.raises(Error, match="E0801") as caught:
        microbatch_of([torch.ones(rows, 2)], microbatches)
    assert hint in str(caught.value)


def test_shapes_and_types_have_numbers_of_their_own() -> None:
    kinds = [torch.ones(2, 3), torch.ones(3, 2), torch.ones(2, 3, dtype=torch.float64), torch.ones(6)]
    assert len({hash_of([kind]) for kind in kinds}) == len(kinds)
    assert hash_of([torch.zeros(2, 3)]) == hash_of([torch.ones(2, 3)])
