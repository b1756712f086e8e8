"""What an archive says of programs that generate tokens: their names, and what they were compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

TOKENS, STARTS, COUNTS, LOGITS = "tokens", "starts", "counts", "logits"
"""Names of the inputs and the output of all programs that generate: int64[batch, n], int64[batch] twice; floating point[batch, vocabulary].
"""


class GenerationArgument(Protocol):
    """What a signature says of an argument or result."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


class GenerationSignature(Protocol):
    """The arguments and results of programs, by name."""

    @property
    def arguments(self) -> tuple[GenerationArgument, ...]: ...

    @property
    def results(self) -> tuple[GenerationArgument, ...]: ...


@record(slots=True)
class Generation:
    """Programs over one cache of keys and values: each takes n tokens a row, and gives the logits that follow the last that counts.

    Args:
        programs: by name, the tokens of a row that the program takes; `decode` takes one.
        batch: rows.
        max_length: tokens that the cache holds for each row.
        vocabulary: tokens that there are.
        wide: states that hold keys and values, and outputs, that stay in the format of the source.
        stop: tokens that end a text, as the model's configuration names them.
    """

    programs: dict[str, int]
    batch: int
    max_length: int
    vocabulary: int
    wide: tuple[str, ...] = ()
    stop: tuple[int, ...] = ()

    def check(self, signatures: Mapping[str, GenerationSignature]) -> None:
        """Raise E0703 unless the programs are there, one of them takes one token, and all have the shapes that follow."""
        sizes = (self.batch, self.max_length, self.vocabulary)
        if min(*sizes, *self.programs.values(), 1) < 1 or 1 not in self.programs.values():
            raise Error("E0703", "generation names no program for one token, or a size below 1")
        for name, count in self.programs.items():
            wanted = {TOKENS: (self.batch, count), STARTS: (self.batch,), COUNTS: (self.batch,)}
            signature = signatures.get(name)
            if signature is None or {port.name: port.shape for port in signature.arguments} != wanted:
                raise Error("E0703", f"program '{name}', which generates, is not there or does not take {', '.join(wanted)}")
            if {port.name: port.shape for port in signature.results if port.name == LOGITS} != {LOGITS: (self.batch, self.vocabulary)}:
                raise Error("E0703", f"program '{name}' does not give {LOGITS}[{self.batch}, {self.vocabulary}]")
        if any(not 0 <= token < self.vocabulary for token in self.stop):
            raise Error("E0703", f"a token that ends texts is not one of {self.vocabulary}")
