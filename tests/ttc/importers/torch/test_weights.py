"""Arrays have the values of tensors, whichever way those lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


def lazily(values: Any) -> list[Any]:
    """Tensors whose memory is not what they are worth: conjugates, negatives, transposed, empty."""
    return [values.conj(), values.conj().imag, values.conj().t(), values.conj()[::2], values[:0].conj()]


def test_values_that_are_still_to_be_computed(rng: np.random.Generator) -> None:
    from ttc.importers.torch.weights import array_of

    parts = torch.from_numpy(rng.standard_normal((2, 4, 3)).astype(np.float32))
    for tensor in lazily(torch.complex(parts[0], parts[1])):
        found = array_of(tensor, np.dtype(np.complex64 if tensor.is_complex() else np.float32))
        np.testing.assert_array_equal(found, np.array(tensor.resolve_conj().resolve_neg().tolist(), found.dtype).reshape(tensor.shape))


def test_memory_is_shared_where_it_is_the_value() -> None:
    from ttc.importers.torch.weights import array_of

    tensor = torch.zeros(3)
    array = array_of(tensor, np.dtype(np.float32))
    tensor[1] = 2
    assert array.tolist() == [0, 2, 0]
