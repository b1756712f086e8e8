"""Variables: tensors and resources that keep their values from run to run.  They become states."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.plain.weights import Weight
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.model import Tensor
from ttc.importers.tflite.weights import dtype_of


class Variables:
    """The variables of a model by name, with their values at this place of the program."""

    def __init__(self, builder: TfliteBuilder) -> None:
        self._builder = builder
        self._first: dict[str, Weight] = {}
        self._leaves: dict[str, SSAValue] = {}
        self._current: dict[str, SSAValue] = {}
        self._tensors: dict[tuple[int, int], str] = {}
        self._resources: dict[str, str] = {}
        self._held = 0
        self.refused = False
        """Whether some could not be given the values that they start with."""

    def is_refused(self, name: str) -> bool:
        """Return whether a variable may be one of those whose first value could not be had."""
        return self.refused and name not in self._first

    def tensor(self, key: tuple[int, int], tensor: Tensor) -> SSAValue:
        """Return what a variable tensor holds; at first zeros, or the number that stands for 0.  key: its graph and index."""
        if key not in self._tensors:
            dtype, zero = dtype_of(tensor), 0 if tensor.quantization is None else tensor.quantization.zeros[0]
            if -1 in tensor.shape:
                raise Error("E0203", f"variable '{tensor.name}' has an open dimension")
            self._tensors[key] = self._builder.free_name(tensor.name)
            shape = tensor.shape
            self._first[self._tensors[key]] = Weight(shape, dtype, lambda: np.full(shape, zero, dtype))
        return self.read(self._tensors[key])

    def name(self, key: tuple[int, int]) -> str | None:
        """Return the variable that is this tensor."""
        return self._tensors.get(key)

    def resource(self, name: str) -> str:
        """Return the variable of that name, which a weight may have, too."""
        if name not in self._resources:
            self._resources[name] = self._builder.free_name(name)
        return self._resources[name]

    def start(self, name: str, first: Weight) -> None:
        """Return the value of a variable before the first run."""
        self._first[name] = first

    def read(self, name: str) -> SSAValue:
        """Return the value of a variable. Raises E0203 for one that nothing has set."""
        if name not in self._current:
            if name not in self._first:
                raise Error("E0203", f"variable '{name}' is read before it is set")
            self._leaves[name] = self._builder.state(name, self._first[name])
            self._current[name] = self._leaves[name]
        return self._current[name]

    def assign(self, name: str, value: SSAValue) -> None:
        """Set the value of a variable. Raises Unsupported for one that changes its type, or is set in a branch or loop that data
        decides.
        """
        if self._held:
            raise Unsupported("a variable that is set in a branch or loop")
        if name not in self._first:
            raise Unsupported("a variable without a value to start with")
        first = self._first[name]
        if self._builder.spec(value) != Spec(first.shape, first.dtype):
            raise Unsupported(f"a variable that changes from {Spec(first.shape, first.dtype)} to {self._builder.spec(value)}")
        self.read(name)
        self._current[name] = value

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep variables from being set inside the block."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def updates(self, taken: Container[str]) -> list[tuple[Port, SSAValue]]:
        """Return results for the variables that have new values.  taken: names of other results."""
        changed = [(n, v) for n, v in self._current.items() if v is not self._leaves[n]]
        found: list[tuple[Port, SSAValue]] = []
        for name, value in changed:
            port = f"{name}/next"
            while port in taken:
                port += "'"
            found.append((Port(port, updates=name), value))
        return found
