"""Tensors, parameters and modules of PyBuda as those of ttc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ttc import nn
from ttc.compat.names import Refusing
from ttc.compat.pybuda_enums import REFUSED_OF_MODULES
from ttc.dialects.core.errors import Error
from ttc.ops.arrays import array_of


class Tensor:
    """A value that a run gives or takes."""

    def __init__(self, value: Any) -> None:
        self._value = torch.as_tensor(value)

    def value(self) -> torch.Tensor:
        """Return the value as a tensor of PyTorch."""
        return self._value

    def to_pytorch(self) -> torch.Tensor:
        """Return the value as a tensor of PyTorch."""
        return self._value

    def to_framework(self, framework: str) -> Any:
        """Return the value as a tensor of pytorch, or as an array that tensorflow takes. Raises E0101."""
        if framework not in ("pytorch", "tensorflow"):
            raise Error("E0101", f"framework is pytorch or tensorflow, not '{framework[:40]}'")
        return self._value if framework == "pytorch" else self._value.detach().numpy()

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of its dimensions."""
        return tuple(self._value.shape)

    @staticmethod
    def create_from_torch(value: torch.Tensor) -> Tensor:
        """Return PyBuda's tensor of a tensor of PyTorch."""
        return Tensor(value)


def plain(value: Any) -> Any:
    """Return a user's value without PyBuda's wrapper."""
    return value.value() if isinstance(value, Tensor) else value


class Parameter(nn.Parameter):
    """A parameter as PyBuda makes it: `Parameter(32, 32, requires_grad=True)`, or of a tensor."""

    def __init__(self, *value: Any, requires_grad: bool = True, name: str | None = None, dev_data_format: Any = None) -> None:
        super().__init__(*value, requires_grad=requires_grad)
        self._name = name

    def value(self) -> torch.Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return its value as a tensor of PyTorch."""
        return torch.as_tensor(self._value)

    def set_value(self, value: Any) -> None:
        """Set its value and the type of its elements; leading dimensions of size 1 may be more or fewer.  Raises E0401."""
        array = array_of(plain(value))
        if _core(array.shape) != _core(self.shape):
            raise Error("E0401", f"a parameter of shape {list(self.shape)} does not take a value of shape {list(array.shape)}")
        self._value: NDArray[Any] = np.array(array).reshape(self.shape)

    def get_name(self) -> str | None:
        """Return the name that it was given."""
        return self._name


def _core(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without leading dimensions of size 1."""
    first = next((i for i, size in enumerate(shape) if size != 1), len(shape))
    return shape[first:]


class Module:
    """The base of all modules: a name, and the device that they are placed on."""

    device: Any = None
    runner: Any = None
    """Runs inference of a module and a list of inputs; `pybuda_run` sets it."""

    def get_name(self) -> str:
        """Return the name of the module."""
        return self.name  # pyright: ignore[reportAttributeAccessIssue]

    def get_device(self) -> Any:
        """Return the device that the module is placed on, or None."""
        return self.device

    def __getattr__(self, name: str) -> Any:
        Refusing(type(self).__name__, REFUSED_OF_MODULES)(name)

    def run(self, *args: Any) -> tuple[Tensor, ...]:
        """Run inference of one input on a device of the module's own."""
        return tuple(self.runner(self, [args]).get())


class PyTorchModule(Module):
    """A module of PyTorch that can be placed on any device."""

    def __init__(self, name: str, module: torch.nn.Module, redirect_forward: bool = True) -> None:
        self.name, self.module = name, module

    @property
    def stage(self) -> Any:
        """Return what a stage of `ttc.Pipeline` is made of."""
        return self.module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module in PyTorch."""
        return self.module(*args, **kwargs)

    def set_parameters(self, **values: Any) -> None:
        """Set values of parameters by name."""
        self.module.load_state_dict({name: torch.as_tensor(value) for name, value in values.items()}, strict=False)

    def add_parameter(self, name: str, parameter: Any, prepend_name: bool = False) -> None:
        """Give the module a parameter of that name."""
        self.module.register_parameter(f"{self.name}.{name}" if prepend_name else name, parameter)

    def get_parameters(self) -> list[torch.nn.Parameter]:
        """Return all parameters of the module."""
        return list(self.module.parameters())


class _FileModule(Module):
    """A model that ttc imports as it is: a Keras model, or a file."""

    def __init__(self, name: str, module: Any, path: str | None = None) -> None:
        self.name, self.module, self.stage = name, module, path or module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model in its own framework."""
        return self.module(*args, **kwargs)


class TFModule(_FileModule):
    """A Keras model that can be placed on a device."""


class TFLiteModule(_FileModule):
    """A file of TensorFlow Lite."""


class OnnxModule(_FileModule):
    """An ONNX model, which is read from its file."""

    def __init__(self, name: str, module: Any, onnx_path: str) -> None:
        super().__init__(name, module, onnx_path)


class PyBudaModule(nn.Module, Module):
    """A module by hand; ops of pybuda.op stand in its `forward`."""

    @property
    def stage(self) -> Any:
        """Return what a stage of `ttc.Pipeline` is made of."""
        return self

    def add_parameter(self, name: str, parameter: nn.Parameter, prepend_name: bool = False) -> None:
        """Give the module a parameter of that name."""
        super().add_parameter(f"{self.name}.{name}" if prepend_name else name, parameter)

    def add_constant(self, name: str, prepend_name: bool = False, shape: tuple[int, ...] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Give the module a constant of that name, of zeros until it is set."""
        self.add_parameter(name, Parameter(*(shape or (1,)), requires_grad=False), prepend_name)

    def get_parameter(self, name: str) -> nn.Parameter:
        """Return the parameter of that name.  Raises E0206."""
        return self.parameter(name)

    get_constant = get_parameter

    def get_parameters(self, submodules: bool = True) -> list[nn.Parameter]:
        """Return its parameters, and with submodules theirs, too."""
        return [p for name, p in self.named_parameters() if submodules or "." not in name]

    def set_parameter(self, name: str, data: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Set the value of a parameter.  Raises E0206, E0401."""
        found = self.parameter(name)
        if isinstance(found, Parameter):
            found.set_value(data)
        else:
            found.value = plain(data)

    def set_constant(self, name: str, data: Any) -> None:
        """Set the value of a constant, whatever its shape.  Raises E0206."""
        self.parameter(name)._value = np.array(array_of(plain(data)))  # noqa: SLF001 - PyBuda's constants take their value's shape

    def load_parameter_dict(self, data: Mapping[str, Any]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Set values of parameters by name.  Raises E0206, E0401."""
        for name, value in data.items():
            self.set_parameter(name, value)
