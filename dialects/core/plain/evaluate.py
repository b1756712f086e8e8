"""Running plain functions that come out of a file: whatever is wrong with them ends in an `Error`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions of code that trusts its input, where an archive is malformed."""


def evaluate(
    function: Function,
    inputs: Sequence[NDArray],
    resolve: interpret.Resolver | None,
    where: str,
    execute: interpret.Execute = interpret.run_work,
) -> list[NDArray]:
    """Return the outputs of a function.

    Args:    where: the place named by errors that do not know theirs; execute: runs one op.
    Raises:  E0609 if its ops cannot take their operands or attributes, E0104 if memory does not suffice, and what its ops raise.
    """
    return guarded(lambda: interpret.run(function, inputs, resolve, execute), where)


def guarded(compute: Callable[[], list[NDArray]], where: str) -> list[NDArray]:
    """Return what a computation gives.  Raises as `evaluate` does."""
    try:
        return compute()
    except Error as error:
        raise error.at(where) from None
    except MemoryError:
        raise Error("E0104", "there is not enough memory for its results", where) from None
    except MALFORMED as error:
        raise Error("E0609", f"it cannot be computed: {type(error).__name__}: {str(error)[:200]}", where) from error
