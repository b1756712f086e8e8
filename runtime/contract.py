"""Values of integer inputs that a program was compiled for, and that every run of it must have.

A compiler that needs the value of an input (the shape of a reshape, the axes of a reduction) makes the program for the value that it was
given.  The program is then right for no other, so the value is recorded, and every run is held to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Program
from ttc.runtime.arguments import check_array, inputs_of

MAX_ELEMENTS = 2048
"""The most elements of one input whose value a program is made for."""
ABSENT = ("none", "sequence")
"""The types of inputs without tensors: an optional without an element, an empty sequence."""
_DTYPES = frozenset(["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))])
_NUMBER = re.compile(r"-?\d{1,20}")
_SHOWN = 8
"""Elements that messages show of a value."""


@record(slots=True)
class FixedInput:
    """An input that must have one value.

    Args:
        name: of the input.
        shape, dtype: of the user's array (numpy name; integers or bool).
        values: its elements in row-major order, in decimal with spaces between them: any 64-bit integer survives JSON and IR text.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    values: str

    @staticmethod
    def of(name: str, array: NDArray) -> FixedInput:
        """Return the contract that an input has this value.  Raises E0202 for more than MAX_ELEMENTS."""
        if array.size > MAX_ELEMENTS:
            raise Error("E0202", f"input '{name}' holds {array.size} values that ops follow from; at most {MAX_ELEMENTS} are possible")
        return FixedInput(name, tuple(array.shape), str(array.dtype), " ".join(str(int(x)) for x in array.ravel()))

    def array(self) -> NDArray:
        """Return the value.  Raises E0703 if the fields do not describe one."""
        if self.dtype not in _DTYPES or any(size < 0 for size in self.shape) or len(self.shape) > 32:
            raise Error("E0703", f"the value of input '{self.name}' is not of an integer tensor's type and shape")
        numbers = [int(text) for text in self.values.split() if _NUMBER.fullmatch(text)]
        texts = self.values.split()
        limits = (0, 1) if self.dtype == "bool" else (int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max))
        if len(numbers) != len(texts) or len(texts) > MAX_ELEMENTS or len(texts) != prod(self.shape):
            raise Error("E0703", f"the value of input '{self.name}' does not hold {prod(self.shape)} integers")
        if any(not limits[0] <= number <= limits[1] for number in numbers):
            raise Error("E0703", f"the value of input '{self.name}' holds numbers that {self.dtype} cannot hold")
        value = np.array(numbers, self.dtype).reshape(self.shape)
        value.flags.writeable = False
        return value


def known_values(contract: Iterable[FixedInput]) -> dict[str, NDArray]:
    """Return the values by input.  Raises E0703 for what is no value, and for an input that is named twice."""
    found: dict[str, NDArray] = {}
    for item in contract:
        if item.name in found:
            raise Error("E0703", f"the value of input '{item.name}' is given twice")
        found[item.name] = item.array()
    return found


def check_contract(contract: Iterable[FixedInput], programs: Iterable[Program]) -> None:
    """Check that each input with a value is an input of a program, and has its shape and type wherever it occurs. Raises E0703."""
    arguments = [argument for program in programs for argument in inputs_of(program)]
    for name, value in known_values(contract).items():
        found = {(argument.dtype, argument.shape) for argument in arguments if argument.name == name}
        if found != {(str(value.dtype), value.shape)}:
            raise Error("E0703", f"a value is recorded for '{name}', {value.dtype}{list(value.shape)}, which is no such input")


def check_values(program: Program, given: Mapping[str, Any], wanted: Mapping[str, NDArray]) -> None:
    """Check that inputs have the values that the program was compiled for. Raises E0801, and E0806 for another value."""
    for argument in inputs_of(program) if wanted else ():
        value = wanted.get(argument.name)
        if value is None:
            continue
        found = check_array(argument.name, given[argument.name], argument.shape, argument.dtype)
        if not np.array_equal(found, value):
            hint = f"compile for this value: --values {argument.name}=FILE.npy, or example_inputs of ttc.compile"
            raise Error("E0806", _difference(argument.name, found, value), hint=hint)


def _difference(name: str, found: NDArray, wanted: NDArray) -> str:
    if wanted.size <= _SHOWN:
        return f"input '{name}' is {found.tolist()}, and the program was compiled for {wanted.tolist()} alone"
    place = [int(index) for index in np.argwhere(found != wanted)[0]]
    there = f"{found[tuple(place)]} at {place}, and the program was compiled for {wanted[tuple(place)]} there"
    return f"input '{name}' is {there}"
