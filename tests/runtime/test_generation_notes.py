"""What archives say of programs that generate is checked against the programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.generation_notes import Generation
from ttc.runtime.manifest import ManifestPort, ProgramSignature

NOTES = Generation({"decode": 1, "prefill": 8}, batch=2, max_length=16, vocabulary=50, stop=(3,))


def port(name: str, kind: str, *shape: int) -> ManifestPort:
    return ManifestPort(name, kind, shape, "int64", "Int64", False, None)


def signature(count: int, vocabulary: int = 50) -> ProgramSignature:
    inputs = (port("tokens", "input", 2, count), port("starts", "input", 2), port("counts", "input", 2))
    return ProgramSignature(inputs, (port("logits", "output", 2, vocabulary),))


SIGNATURES = {"decode": signature(1), "prefill": signature(8), "forward": signature(4)}


def test_what_fits_is_taken() -> None:
    NOTES.check(SIGNATURES)


@pytest.mark.parametrize(
    "notes",
    [
        replace(NOTES, programs={"decode": 1, "other": 8}),
        replace(NOTES, programs={"decode": 1, "prefill": 7}),
        replace(NOTES, programs={"prefill": 8}),
        replace(NOTES, programs={}),
        replace(NOTES, programs={"decode": 0}),
        replace(NOTES, batch=3),
        replace(NOTES, max_length=0),
        replace(NOTES, vocabulary=51),
        replace(NOTES, stop=(50,)),
    ],
)
def test_what_does_not_fit_is_refused(notes: Generation) -> None:
    with pytest.raises(Error, match="E0703"):
        notes.check(SIGNATURES)
