"""The collector runs inside only where it is told to, over what was made there, and is back afterwards, however it was."""

from __future__ import annotations

import gc
import subprocess
import sys

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


FREED = """
import gc, weakref
from ttc.dialects.core.garbage import uncollected

class Cycle:
    def __init__(self):
        self.itself = self

if FROZEN:
    gc.freeze()
old = Cycle()
gc.collect()  # it outlives one, as what a process holds for long does
before = weakref.ref(old)
del old
with uncollected() as collect:
    with uncollected() as inner:
        stage, late = Cycle(), weakref.ref(Cycle())
        inner()
        assert late() is None
    first = weakref.ref(stage)
    del stage
    collect()
    assert (first() is None) is not FROZEN, "what outlived a search is walked where it was made inside"
    assert before() is not None, "what was there before is not walked"
assert gc.isenabled() and (gc.get_freeze_count() > 0) is FROZEN
gc.collect()
assert before() is None and first() is None
"""


@pytest.mark.parametrize("frozen", [False, True])
def test_garbage_is_freed_when_asked_and_what_was_there_before_is_not_walked(frozen: bool) -> None:
    """In a process of its own: tests have set aside what they import."""
    done = subprocess.run([sys.executable, "-c", FREED.replace("FROZEN", str(frozen))], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
