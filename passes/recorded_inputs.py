"""What a module records of inputs that its programs hold for one value of, or take nothing for."""

from __future__ import annotations

from typing import Any

from ttc.dialects.core.errors import Error
from ttc.runtime.contract import ABSENT, FixedInput, known_values


def fixed_inputs(rows: Any) -> tuple[FixedInput, ...]:
    """Return the contract from a module's attribute `ttc.fixed_inputs`: rows of (name, shape, dtype, values), or None.  Raises E0302."""
    found: list[FixedInput] = []
    for row in _rows(rows):
        if tuple(map(type, row)) != (str, tuple, str, str) or any(type(size) is not int for size in row[1]):
            raise Error("E0302", 'ttc.fixed_inputs does not hold rows like ["sizes", array<i64: 2>, "int64", "3 224"]')
        found.append(FixedInput(*row))
    try:
        known_values(found)
    except Error as error:
        raise Error("E0302", f"ttc.fixed_inputs: {error.message}") from None
    return tuple(found)


def absent_inputs(rows: Any) -> tuple[tuple[str, str], ...]:
    """Return inputs of the model that programs take nothing for, from a module's attribute `ttc.absent_inputs`, or None.  Raises E0302."""
    found = tuple(_rows(rows))
    if any(tuple(map(type, row)) != (str, str) or row[1] not in ABSENT for row in found):
        raise Error("E0302", f"ttc.absent_inputs does not hold rows of a name and one of {', '.join(ABSENT)}")
    return found


def _rows(rows: Any) -> tuple[tuple[Any, ...], ...]:
    if rows is None:
        return ()
    if not isinstance(rows, tuple) or not all(isinstance(row, tuple) for row in rows):
        raise Error("E0302", "an attribute of inputs is not a list of rows")
    return rows
