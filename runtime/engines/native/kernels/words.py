"""Words of a job by name; those of a batch among them: the sizes of its dimensions, and what each tensor steps over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from ttc.runtime.engines.native.graph.tensors import View
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

Word: TypeAlias = "int | float | View"
"""What a job tells its kernel: an integer, a float32, or the address of a view's first element."""


class Words:
    """What a kernel's code reads of its job: integers by name, each loaded where it is first asked for.

    Args:
        places: numbers of the words, by name.
    """

    def __init__(self, f: Writer, places: Mapping[str, int]) -> None:
        self._f = f
        self._places = places

    def __getitem__(self, name: str) -> Value:
        return self._f.word(self._places[name])

    def pointer(self, name: str) -> Value:
        """Return the address that a word holds."""
        return self._f.pointer(self._places[name])

    def real(self, name: str) -> Value:
        """Return the float32 that a word holds."""
        return self._f.real(self._places[name])

    def part(self, prefix: str) -> Words:
        """Return the words whose names begin with the prefix, by the rest of their names."""
        return Words(self._f, {name.removeprefix(prefix): place for name, place in self._places.items() if name.startswith(prefix)})


def words_of(names: Sequence[str], values: Mapping[str, Word]) -> tuple[Word, ...]:
    """Return the words of a job in the order of their names.  Raises E0901 unless there is one for each name and no other."""
    if set(names) != set(values):
        raise Error("E0901", f"internal error: words of a job differ from its kernel's: {sorted(set(names) ^ set(values))}")
    return tuple(values[name] for name in names)


def batch_names(tensors: Sequence[str], dimensions: int) -> tuple[str, ...]:
    """Return names of the words of a batch, its slowest dimension first: the size, and the stride of each tensor in bytes."""
    return tuple(f"{name}_batch{i}" for i in range(dimensions) for name in ("size", *tensors))


def batch_words(tensors: Sequence[str], dims: Sequence[Sequence[int]]) -> dict[str, Word]:
    """Return the words of these names, given the numbers of each dimension."""
    return {f"{name}_batch{i}": number for i, dim in enumerate(dims) for name, number in zip(("size", *tensors), dim, strict=True)}


def bases_at(f: Writer, words: Words, tensors: Sequence[str], dimensions: int, element: Value) -> list[Value]:
    """Return addresses of the parts of tensors that belong to an element of the batch, which are counted in row-major order."""
    bases = [words.pointer(name) for name in tensors]
    for i in reversed(range(dimensions)):
        index = element
        if i > 0:
            size = words[f"size_batch{i}"]
            index, element = element % size, element // size
        bases = [f.at(base, index * words[f"{name}_batch{i}"], "i8") for base, name in zip(bases, tensors, strict=True)]
    return bases
