"""What PyTorch leaves behind when it traces a program."""

from __future__ import annotations

import linecache
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.importers.torch.tracing import tracing  # noqa: E402


def test_lines_of_files_are_forgotten_and_those_of_generated_code_stay():
    linecache.cache.pop(torch.__file__, None)
    linecache.getlines(__file__)
    with tracing("E0202", "it failed"):
        assert linecache.getline(torch.__file__, 1)
        linecache.cache["<generated>"] = (1, None, ["x = 1\n"], "<generated>")
    assert torch.__file__ not in linecache.cache
    assert __file__ in linecache.cache
    assert linecache.getline("<generated>", 1) == "x = 1\n"
    assert linecache.getline(torch.__file__, 1)


def test_what_is_raised_is_one_error_and_warnings_stay_inside():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tracing("E0202", "it failed"):
            warnings.warn("a warning", stacklevel=1)
    with pytest.raises(Error, match=r"it failed: ValueError: first") as raised, tracing("E0202", "it failed"):
        raise ValueError("first\nsecond")
    assert raised.value.code == "E0202"
