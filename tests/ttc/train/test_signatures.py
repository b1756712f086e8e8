"""Programs by the shapes that they are for."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.train.signatures import KEPT, Signatures, signature_of


def test_the_oldest_is_given_up() -> None:
    dropped: list[int] = []
    known: Signatures[int] = Signatures("again", dropped.append)
    for key in range(KEPT):
        assert known.get(key, lambda key=key: key) == key
    assert known.get(0, lambda: -1) == 0  # used again, so that 1 is the oldest
    assert known.get(KEPT, lambda: KEPT) == KEPT
    assert (dropped, known.compilations) == ([1], KEPT + 1)
    known.clear()
    assert sorted(dropped) == list(range(KEPT + 1))


def test_another_signature_may_be_an_error() -> None:
    known: Signatures[int] = Signatures("error", lambda _: None)
    known.get(signature_of([np.zeros((4, 2), np.float32)], 2), lambda: 1)
    with pytest.raises(Error, match=r"float32\[1, 2\], not float32\[2, 2\]") as raised:
        known.get(signature_of([np.zeros((2, 2), np.float32)], 2), lambda: 2)
    assert raised.value.code == "E0801"
    assert known.compilations == 1


def test_failures_leave_nothing() -> None:
    known: Signatures[int] = Signatures("error", lambda _: None)
    with pytest.raises(ZeroDivisionError):
        known.get((), lambda: 1 // 0)
    assert known.get(("other",), lambda: 3) == 3
