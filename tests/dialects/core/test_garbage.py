"""The collector runs inside only where it is told to, over what was made there, and is back afterwards, however it was."""

from __future__ import annotations

import gc
import weakref

import pytest

from ttc.dialects.core.garbage import uncollected


class _Cycle:
    """Garbage that only a search frees."""

    def __init__(self) -> None:
        self.itself = self


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


def test_what_was_made_inside_is_freed_when_asked_and_what_was_there_before_is_not_walked() -> None:
    before, inside = weakref.ref(_Cycle()), None
    with uncollected() as collect:
        inside = weakref.ref(_Cycle())
        kept = _Cycle()
        assert inside() is not None
        collect()
        assert (inside(), before() is None, kept.itself) == (None, False, kept)
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert before() is None


def test_objects_that_the_process_has_set_aside_stay_so() -> None:
    gc.freeze()
    try:
        with uncollected() as collect:
            inside = weakref.ref(_Cycle())
            collect()
            assert inside() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
