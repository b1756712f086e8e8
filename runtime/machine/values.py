"""The values of a session's states and parameters, by their names in the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.runtime.arguments import require_in_range
from ttc.runtime.derive import check_parameters, check_states
from ttc.runtime.machine.variables import Variable
from ttc.runtime.manifest import Description
from ttc.runtime.manifest import ManifestVariable as Described
from ttc.runtime.program import Program


class InitialValues:
    """Variables for all states, and for the parameters that programs update.

    Args:
        program: with the first values.
    """

    def __init__(self, program: Program) -> None:
        description, constants = program.description, program.constants
        updated = {name: v for name, v in description.parameters.items() if v.key in program.netlists.updated}
        self.described: Mapping[str, Described] = {**updated, **description.states}
        """What the variables are in the model, by name."""
        self._description: Description = description
        self.variables: dict[str, Variable] = {}
        for described in self.described.values():
            key = str(described.key)
            self.variables[key] = Variable(key, constants.sources[key].format, constants[key])
            constants.release(key)

    def of(self, name: str) -> Variable | None:
        """Return the variable of a state or parameter; None for a parameter that no program updates."""
        found = self.described.get(name)
        return None if found is None else self.variables[str(found.key)]

    def states(self, names: Iterable[str] | None = None) -> dict[str, NDArray]:
        """Return copies of states, in the shapes and dtypes of the model.  names: of those that are wanted; None: all. Raises E0801."""
        known = self._description.states
        chosen = known if names is None else list(names)
        for name in chosen:
            if name not in known:
                raise Error("E0801", f"the model has no state '{name}'", hint=nearest(name, known))
        return {name: self._copy(name) for name in chosen}

    def parameters(self, program: Program) -> dict[str, NDArray]:
        """Return copies of the parameters that the program holds whole; those that only derived tensors are stored of are absent."""
        found: dict[str, NDArray] = {}
        for name, described in self._description.parameters.items():
            if name in self.described:
                found[name] = self._copy(name)
            elif name in program.parameters:
                found[name] = program.parameters[name].copy()
            elif described.key is not None and described.key in program.constants:
                found[name] = _shaped(program.constants[described.key], described)
        return found

    def saved(self, program: Program) -> Program:
        """Return the program with the parameters that runs have updated."""
        updated = {name: self._copy(name) for name in self.described if name in self._description.parameters}
        return program.with_parameters(updated) if updated else program

    def update(self, results: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Store the new values that a run gives for variables; returns its other results.  Raises E0602 for another number of elements."""
        for name, value in results.items():
            variable = self.of(name)
            if variable is not None:
                variable.push(value)
        return {name: value for name, value in results.items() if self.of(name) is None}

    def staged(
        self, parameters: Mapping[str, NDArray], states: Mapping[str, NDArray]
    ) -> tuple[list[tuple[Variable, NDArray]], dict[str, NDArray]]:
        """Return values that somebody gives, as variables hold them, and the parameters that are no variables.  Raises E0801, E0802."""
        checked = check_parameters(self._description, parameters) | check_states(self._description, states)
        found: list[tuple[Variable, NDArray]] = []
        for name, value in checked.items():
            variable = self.of(name)
            if variable is not None:
                require_in_range(f"'{name}'", value, variable.format.name)
                found.append((variable, variable.rounded(value)))
        return found, {name: value for name, value in checked.items() if self.of(name) is None}

    def holds(self, name: str, dtype: str, format: str) -> Variable | None:
        """Return the variable whose memory holds results of that dtype and format as they are; None if they must be converted."""
        variable = self.of(name)
        return variable if variable is not None and variable.format.name == format and variable.keeps(np.dtype(dtype)) else None

    def named(self) -> Iterator[tuple[str, Variable]]:
        """Return all variables, by the name of what they hold."""
        return ((name, self.variables[str(described.key)]) for name, described in self.described.items())

    def exact(self) -> dict[str, NDArray]:
        """Return all values by name, bit by bit: in the dtype of the model, or a wider one if it cannot hold them.  Most are no copies."""
        found: dict[str, NDArray] = {}
        for name, variable in self.named():
            described = self.described[name]
            dtype = np.dtype(described.dtype)
            value = variable.value.astype(dtype, copy=False) if variable.keeps(dtype) else variable.value
            found[name] = value.reshape(described.shape)
        return found

    def _copy(self, name: str) -> NDArray:
        described = self.described[name]
        return _shaped(self.variables[str(described.key)].value, described)


def _shaped(value: NDArray, described: Described) -> NDArray:
    """Return a copy in the shape and dtype of the model."""
    with np.errstate(over="ignore"):  # what a narrower float cannot hold is infinite
        return np.array(value, np.dtype(described.dtype), copy=True).reshape(described.shape)
