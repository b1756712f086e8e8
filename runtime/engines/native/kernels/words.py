"""Words of a job by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.lowering import Word


class Words:
    """What a kernel's code reads of its job: integers by name, each loaded where it is first asked for."""

    def __init__(self, f: Writer, names: Sequence[str]) -> None:
        self._f = f
        self._places = {name: index for index, name in enumerate(names)}

    def __getitem__(self, name: str) -> Value:
        return self._f.word(self._places[name])

    def pointer(self, name: str) -> Value:
        """An address."""
        return self._f.pointer(self._places[name])


def words_of(names: Sequence[str], values: Mapping[str, Word]) -> tuple[Word, ...]:
    """The words of a job in the order of their names.  Raises E0901 unless there is one for each name and no other."""
    if set(names) != set(values):
        raise Error("E0901", f"internal error: words of a job differ from its kernel's: {sorted(set(names) ^ set(values))}")
    return tuple(values[name] for name in names)
