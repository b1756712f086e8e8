"""Tokens one after the other, from programs over one cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.generation.chunks import Chunks
from ttc.generation.prompts import Prompts, rows_of
from ttc.generation.sampling import GREEDY, Sampling
from ttc.runtime.executor import Executor
from ttc.runtime.generation_notes import COUNTS, LOGITS, STARTS, TOKENS, Generation
from ttc.runtime.program import Program

Step: TypeAlias = "tuple[int | None, ...]"
"""The next token of each row, from one step; None for rows that have ended."""


class Generator:
    """Generates tokens with a program of `ttc.generator`; holds the cache, and what is in it.

    Each row of the batch has a text of its own: the tokens of its prompts and those that were generated.  Calls go on where the last one
    ended.  The token that was chosen last enters the cache with the next one.  Not for several threads at a time.

    Args:
        executor: of a program that generates; it is closed with the generator.
    Raises: E0803 if its program does not generate.
    """

    def __init__(self, executor: Executor) -> None:
        notes = executor.description.generation
        if notes is None:
            raise Error("E0803", "the archive holds no programs that generate tokens", hint="ttc.generator(model).save(...) writes one")
        self.notes: Generation = notes
        self.executor = executor
        self._initial = executor.program
        self._programs = {count: name for name, count in notes.programs.items()}
        self._chunks = Chunks(self._programs)
        self._lengths = np.zeros(notes.batch, np.int64)
        self._waiting: list[list[int]] = [[] for _ in range(notes.batch)]
        self._logits: list[NDArray | None] = [None] * notes.batch

    @property
    def batch(self) -> int:
        """The number of rows, each with a text of its own."""
        return self.notes.batch

    @property
    def max_length(self) -> int:
        """The number of tokens that the cache holds for each row."""
        return self.notes.max_length

    @property
    def vocabulary(self) -> int:
        """The number of tokens that there are, from 0 on."""
        return self.notes.vocabulary

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of tokens of each row so far, with those that wait to enter the cache."""
        return tuple(int(length) + len(waiting) for length, waiting in zip(self._lengths, self._waiting, strict=True))

    def feed(self, prompts: Prompts) -> NDArray:
        """Take prompts into the cache, and return the logits[batch, vocabulary] that follow each row's text.

        Args:    prompts: tokens of the one row, or of each row, in any number that fits; a row that is given none must have a text.
        Raises:  E0801, E0802 for prompts, E0810 if they do not fit into the cache; then nothing has changed.  And as runs do.
        """
        self._take(rows_of(prompts, self.batch, self.vocabulary), 0)
        return np.stack([row for row in self._logits if row is not None])

    def generate(
        self,
        prompts: Prompts | None = None,
        max_tokens: int | None = None,
        *,
        sampling: Sampling = GREEDY,
        stop: Collection[int] | None = None,
        on_step: Callable[[Step], object] | None = None,
    ) -> list[list[int]]:
        """Return the tokens generated for each row.  on_step: called with each step's tokens as they come; the rest as in `stream`."""
        found: list[list[int]] = [[] for _ in range(self.batch)]
        for step in self.stream(prompts, max_tokens, sampling=sampling, stop=stop):
            for row, token in zip(found, step, strict=True):
                if token is not None:
                    row.append(token)
            if on_step is not None:
                on_step(step)
        return found

    def stream(
        self,
        prompts: Prompts | None = None,
        max_tokens: int | None = None,
        *,
        sampling: Sampling = GREEDY,
        stop: Collection[int] | None = None,
    ) -> Iterator[Step]:
        """Take prompts, and give tokens as they are generated, a step for all rows.

        Args:    prompts: as `feed` takes them; None: go on.
                 max_tokens: of each row; None: until it stops, or its cache is full.
                 sampling: how tokens are chosen.
                 stop: tokens that end a row, of which they are the last; None: those of the model.
        Raises:  at once: E0101 for max_tokens below 1; E0801, E0802 for prompts; E0810 if the cache has no room for prompts and max_tokens;
                 then nothing has changed.  Later: E0802 for logits that are no numbers, and as runs do.
        """
        if max_tokens is not None and max_tokens < 1:
            raise Error("E0101", f"max_tokens is at least 1, not {max_tokens}")
        rows = [[] for _ in range(self.batch)] if prompts is None else rows_of(prompts, self.batch, self.vocabulary)
        self._check(rows, 1 if max_tokens is None else max_tokens)
        ends = frozenset(self.notes.stop if stop is None else stop)
        return self._stream(rows, max_tokens, sampling, ends)

    def reset(self) -> None:
        """Let all rows begin anew, without a text."""
        self._lengths[:] = 0
        self._waiting = [[] for _ in range(self.batch)]
        self._logits = [None] * self.batch

    @property
    def program(self) -> Program:
        """The program, with an empty cache."""
        return self._initial

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the archive, which `ttc.generator(path)` and `ttc generate` take.  Texts are not part of it.  Raises E0103."""
        self._initial.save(path)

    def close(self) -> None:
        """Give up the cache; further runs raise E0803."""
        self.executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # ---- inside --------------------------------------------------------------------------------------------------------------------------

    def _stream(self, rows: list[list[int]], max_tokens: int | None, sampling: Sampling, ends: frozenset[int]) -> Iterator[Step]:
        self._take(rows, 1 if max_tokens is None else max_tokens)
        active, count = set(range(self.batch)), 0
        while True:
            step = tuple(self._choose(row, sampling) if row in active else None for row in range(self.batch))
            count += 1
            yield step
            active = {row for row in active if step[row] not in ends}
            if max_tokens is None:
                active = {row for row in active if self.lengths[row] <= self.max_length}
            if not active or count == max_tokens:
                return
            self._run([waiting if row in active else [] for row, waiting in enumerate(self._waiting)])

    def _choose(self, row: int, sampling: Sampling) -> int:
        """Return the next token of a row, which waits from then on."""
        logits = self._logits[row]
        if logits is None:
            raise Error("E0801", f"row {row} was used elsewhere while its tokens were streamed")
        token = sampling.choose(logits, row, int(self._lengths[row]))
        self._waiting[row], self._logits[row] = [token], None
        return token

    def _check(self, rows: Sequence[Sequence[int]], more: int) -> None:
        """Raise E0810 unless these tokens and `more` that are generated fit (the last need not), E0801 for a row without any text."""
        for row, (held, new) in enumerate(zip(self.lengths, rows, strict=True)):
            if held + len(new) == 0:
                raise Error("E0801", f"row {row} has no text to go on from", hint="give it a prompt of at least one token")
            needed = held + len(new) + max(more - 1, 0)
            if needed > self.max_length:
                told = f"{held} tokens, {len(new)} of the prompt" + (f" and {more} to be generated" if more else "")
                raise Error("E0810", f"the cache of row {row} holds {self.max_length} tokens: there is no room for {told}")

    def _take(self, rows: Sequence[Sequence[int]], more: int) -> None:
        """Put prompts behind what waits, and all that waits into the cache."""
        self._check(rows, more)
        self._run([[*waiting, *new] for waiting, new in zip(self._waiting, rows, strict=True)])

    def _run(self, rows: Sequence[Sequence[int]]) -> None:
        """Let programs take tokens of rows, chunk by chunk; what they took waits no more."""
        done = 0
        longest = max(map(len, rows))
        while done < longest:
            size = self._chunks.next(longest - done)
            counts = [min(max(len(row) - done, 0), size) for row in rows]
            tokens = np.zeros((self.batch, size), np.int64)
            for row, count in enumerate(counts):
                tokens[row, :count] = rows[row][done : done + count]
            inputs = {TOKENS: tokens, STARTS: self._lengths, COUNTS: np.array(counts, np.int64)}
            logits = self.executor.session.call(self._programs[size], inputs)[LOGITS]
            for row, count in enumerate(counts):
                if count:
                    self._lengths[row] += count
                    self._logits[row] = logits[row]
                    self._waiting[row] = [*rows[row][done + count :]]
            done += size
