"""Prompts of any length in chunks of the few lengths that programs take."""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.records import record


@record
class Chunks:
    """The programs that take tokens, by how many.

    Args:
        programs: names by the tokens of a row that they take; one takes 1.
    """

    programs: Mapping[int, str]

    def next(self, waiting: int) -> int:
        """Return the tokens of the program that takes the next of so many that wait in the row with the most.

        A longer program is taken, and its chunk filled up, if that wastes no more tokens than chunks of the next smaller length; a
        single token is left to the program for one.
        """
        if waiting == 1:
            return 1
        sizes = sorted(size for size in self.programs if size > 1)
        below = max((size for size in sizes if size <= waiting), default=None)
        above = min((size for size in sizes if size >= waiting), default=None)
        if below is None or above is None:
            return below or above or 1
        return above if above <= -(-waiting // below) * below else below
