"""Models by hand: a Module whose `forward` calls functions of `ttc.ops`, and its Parameters.

class Linear(ttc.nn.Module):
    def __init__(self):
        super().__init__("linear")
        self.weight = ttc.nn.Parameter((32, 16))

    def forward(self, x):
        return ttc.ops.matmul(x, self.weight)

program = ttc.compile(Linear(), (np.zeros((4, 32), np.float32),))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.plain.weights import Weight
from ttc.ops.arrays import array_of
from ttc.ops.tracing import CURRENT, Arithmetic, Tensor, Trace, line

__all__ = ["Module", "Parameter", "Tensor"]


class Parameter(Arithmetic):
    """A weight of a module; in `forward` arithmetic with it makes ops, as with tensors.

    Args:
        *value: its first value, or the sizes of one that starts with zeros: Parameter(array), Parameter((32, 16)), Parameter(32, 16).
        requires_grad: whether training changes it; else it is a constant.
        dtype: of its elements; default: that of the value, else float32.
    Raises: E0403 for what is no array of numbers.
    """

    def __init__(self, *value: Any, requires_grad: bool = True, dtype: DTypeLike | None = None) -> None:
        sizes = value[0] if len(value) == 1 and isinstance(value[0], tuple) else value
        if all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
            self._value: NDArray[Any] = np.zeros(sizes, np.float32 if dtype is None else dtype)
        else:
            array = array_of(value[0])
            self._value = array if dtype is None else array.astype(dtype)
        self.requires_grad = requires_grad

    @property
    def value(self) -> NDArray[Any]:
        """The parameter's value on the host. Another of the same shape may be assigned, which takes the parameter's dtype; E0401 for
        others.
        """
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        array = array_of(value)
        if array.shape != self._value.shape:
            raise Error("E0401", f"a parameter of shape {list(self.shape)} does not take a value of shape {list(array.shape)}")
        self._value = array.astype(self._value.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each dimension."""
        return self._value.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the parameter's elements."""
        return self._value.dtype

    def weight(self) -> Weight:
        """Return the value as the weight of a program, which later changes of the parameter do not reach."""
        value = self._value.copy()
        return Weight(value.shape, value.dtype, lambda: value)

    def value_in(self, trace: Trace) -> SSAValue:
        """Return the parameter's leaf in a trace. Raises E0207 if no module that is traced has the parameter."""
        return trace.leaf(self)

    @property
    def ndim(self) -> int:
        """The number of the parameter's dimensions."""
        return self._value.ndim

    def __repr__(self) -> str:
        return f"Parameter({self.dtype}{list(self.shape)}, requires_grad={self.requires_grad})"


class Module:
    """A model, or a part of one, written in Python: a subclass has a `forward` of tensors.

    Attributes that are parameters or modules, and lists, tuples and mappings of them, belong to it; their names are paths of attributes:
    `encoder.layers.0.weight`.

    Args:
        name: of the model; default: its class.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs of inputs: a tensor, or a tuple or mapping of tensors.  A subclass defines it."""
        raise Error("E0207", f"{type(self).__name__} has no forward", hint="define forward(self, x)")

    def pre_forward(self, *args: Any, **kwargs: Any) -> None:
        """Do what is to be done before each `forward`, with the same arguments; a subclass may define it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` as a part of the module that is being traced.  Raises E0207 outside of a trace."""
        trace = CURRENT.get()
        if trace is None:
            hint = "ttc.compile(module, example_inputs) makes a program that can be run"
            raise Error("E0207", f"{self.name} is called outside of a trace", where=line(), hint=hint)
        with trace.within(self.__dict__.get("_path", "")):
            self.pre_forward(*args, **kwargs)
            return self.forward(*args, **kwargs)

    # ---- parameters ----------------------------------------------------------------------------------------------------------------

    def add_parameter(self, name: str, parameter: Parameter) -> None:
        """Give the module a parameter of that name.  Raises E0207 if it has an attribute of that name."""
        self._free(name)
        setattr(self, name, parameter)

    def add_constant(self, name: str, value: Any) -> None:
        """Give the module a constant: a parameter that training leaves alone.  Raises E0207 if it has an attribute of that name."""
        self.add_parameter(name, Parameter(array_of(value), requires_grad=False))

    def _free(self, name: str) -> None:
        if hasattr(self, name):
            raise Error("E0207", f"{self.name} has an attribute '{name}' already", hint="take another name")

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Yield the module itself and all modules in it, each once, with their paths."""
        seen: set[int] = set()
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            inner = [(name, x) for name, x in _members(vars(module).items()) if isinstance(x, Module)]
            stack.extend((f"{path}.{name}" if path else name, x) for name, x in reversed(inner))

    def named_parameters(self, *, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield parameters of the module and all modules in it, with their paths; shared ones once, by the first, unless asked
        otherwise.
        """
        seen: set[int] = set()
        for path, module in self.named_modules():
            for name, x in _members(vars(module).items()):
                if isinstance(x, Parameter) and not (remove_duplicate and id(x) in seen):
                    seen.add(id(x))
                    yield f"{path}.{name}" if path else name, x

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of that path.  Raises E0206 if there is none."""
        known = dict(self.named_parameters(remove_duplicate=False))
        if name not in known:
            raise Error("E0206", f"{self.name} has no parameter '{str(name)[:80]}'", hint=nearest(str(name), known))
        return known[name]

    def set_parameter(self, name: str, value: Any) -> None:
        """Set the value of a parameter.  Raises E0206, E0401."""
        self.load_parameter_dict({name: value})

    def load_parameter_dict(self, values: Mapping[str, Any]) -> None:
        """Set values of parameters by their paths; others stay.  Raises E0206 and E0401, and changes nothing then."""
        found = [(self.parameter(name), name, array_of(value)) for name, value in values.items()]
        for parameter, name, value in found:
            if parameter.shape != value.shape:
                raise Error("E0401", f"parameter '{name}' of shape {list(parameter.shape)} does not take {list(value.shape)}")
        for parameter, _, value in found:
            parameter.value = value

    def parameter_dict(self) -> dict[str, NDArray[Any]]:
        """Return values of all parameters, by path."""
        return {name: parameter._value for name, parameter in self.named_parameters()}  # noqa: SLF001 - of this module


def _members(items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield names and values, those in lists, tuples and mappings one by one: `layers.0`; what is private is left out."""
    for name, value in items:
        if str(name).startswith("_"):
            continue
        if isinstance(value, list | tuple | dict):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            yield from ((f"{name}.{key}", x) for key, x in _members(inner))
        else:
            yield str(name), value
