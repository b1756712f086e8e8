"""The collector is held off inside, and back afterwards, however it was."""

from __future__ import annotations

import gc

import pytest

from ttc.dialects.core.garbage import uncollected


def _fail() -> None:
    raise KeyError(gc.isenabled())


def test_it_is_back_after_an_error() -> None:
    with pytest.raises(KeyError, match="False"), uncollected():
        _fail()
    assert gc.isenabled()


def test_inside_each_other() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
