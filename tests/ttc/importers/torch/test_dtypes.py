"""Promotion of operands, as torch.result_type has it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from ttc.importers.common.unsupported import Unsupported  # noqa: E402
from ttc.importers.torch.dtypes import DTYPES, dtype_of, promoted_dtype  # noqa: E402

KINDS = (torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)


def test_two_tensors_with_and_without_dimensions() -> None:
    for a, b in product(KINDS, KINDS):
        wide, narrow = torch.zeros(1, dtype=a), torch.zeros((), dtype=b)
        assert promoted_dtype([DTYPES[a]], [DTYPES[b]], []) == DTYPES[torch.result_type(wide, narrow)], (a, b)
        assert promoted_dtype([DTYPES[a], DTYPES[b]], [], []) == DTYPES[torch.promote_types(a, b)], (a, b)


def test_numbers_of_python() -> None:
    for kind, number in product(KINDS, (True, 3, 2.5)):
        for tensor in (torch.zeros(1, dtype=kind), torch.zeros((), dtype=kind)):
            shaped, plain = ([DTYPES[kind]], []) if tensor.dim() else ([], [DTYPES[kind]])
            assert promoted_dtype(shaped, plain, [number]) == DTYPES[torch.result_type(tensor, number)], (kind, number)


def test_what_is_not_supported() -> None:
    assert dtype_of(torch.float32) == np.float32
    with pytest.raises(Unsupported, match="complex64"):
        dtype_of(torch.complex64)
    with pytest.raises(Unsupported, match="Float8"):
        promoted_dtype([DTYPES[torch.float32], DTYPES[torch.float8_e5m2]], [], [])
