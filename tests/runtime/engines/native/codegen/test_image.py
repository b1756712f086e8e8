"""Code in memory: calls into it, what is outside it, and its end."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import weakref
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.engines.native.codegen.test_object_file import kinds
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen import image as module
from ttc.runtime.engines.native.codegen.code import Signature
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.codegen.image import Image, map_code
from ttc.runtime.engines.native.codegen.linked_code import LinkedCode
from ttc.runtime.engines.native.codegen.object_file import link

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code of x86-64")

RETURN = LinkedCode(b"\xc3", {"k": 0})


def test_calls_constants_tables_and_names_outside() -> None:
    """All that `KINDS` refers to is found, wherever in the image the code is."""
    answer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda value: value + 37)
    address = ctypes.cast(answer, ctypes.c_void_p).value or 0
    image = map_code([RETURN, link(kinds()), link(kinds())], {"outside": address})
    for piece in (1, 2):
        function = Signature(image.addresses[piece]["k"])
        for case, expected in enumerate((10, 11, 12, 13, 99, 99)):
            words = np.full(8, 99, np.int32)
            words[5:7] = 99 if case > 3 else 0
            function(words.ctypes.data, 2, case, 0)
            assert words[:1].view(np.float32)[0] == 3.75
            assert (words[1], words[2:4].view(np.int64)[0], words[4], words[5]) == (42, address, 21, expected)
    assert image.base % 4096 == 0


def protection(address: int) -> str | None:
    """How the page at an address may be used, as Linux tells."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        if begin <= address < end:
            return line.split()[1]
    return None


def test_memory_is_not_writable_and_given_back() -> None:
    image = map_code([RETURN])
    assert protection(image.base) == "r-xp"
    image.close()
    image.close()
    assert protection(image.base) is None
    dropped = map_code([RETURN])
    base, gone = dropped.base, weakref.ref(dropped)
    del dropped
    gc.collect()
    assert gone() is None
    assert protection(base) is None


def test_memory_outlives_the_interpreter() -> None:
    """Threads of native code may still be in it when Python's objects are gone."""
    assert Image(0, 0, ()).close.atexit is False


def test_words_that_hold_addresses() -> None:
    code = LinkedCode(b"\xc3" + bytes(31), {"k": 0}, ((8, "", 24), (16, "far", -1)))
    image = map_code([RETURN, code], {"far": 0})
    words = (ctypes.c_uint64 * 2).from_address(image.addresses[1]["k"] + 8)
    assert list(words) == [image.addresses[1]["k"] + 24, (1 << 64) - 1]


@pytest.mark.parametrize("refused", ["_MMAP", "_MPROTECT"])
def test_a_system_that_refuses(refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, refused, lambda *_: module._FAILED)
    with pytest.raises(Error) as failure:
        map_code([RETURN])
    assert (failure.value.code, failure.value.hint) == ("E0104", "use --engine reference")


def test_a_fork_has_the_code_too() -> None:
    image = map_code([RETURN])
    child = os.fork()
    if not child:
        Signature(image.addresses[0]["k"])(0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
