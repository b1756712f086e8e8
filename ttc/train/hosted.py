"""Functions of Python as parts of a model, which the process that runs the model calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.gradients.host_call import GRADIENT
from ttc.dialects.nn.kernels.host_call import FUNCTIONS

Tensors = Sequence[torch.Tensor]
_KNOWN: dict[str, Callable[[Tensors, int], list[torch.Tensor]]] = {}
"""Functions of tensors by name, with those of their gradients."""
_NAMES: dict[Any, str] = {}
"""Names by functions and their gradients, so that the same ones are compiled once."""
_NUMBERS = count()


def host(function: Callable[..., Any], backward: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function that a model of PyTorch calls like the given one, and that stays one of Python where ttc compiles the model.

    It is called in the process that runs the model, between what is compiled.  When a model is exported it is called once with zeros, to
    learn the shapes that it gives, which must depend on shapes alone.  Archives cannot hold it.  A process keeps it until it ends, as what
    is compiled knows it by name: make it once, not in every step.

    Args:
        function: of tensors, which gives a tensor or several; what it gives depends on them alone.
        backward: of the inputs and the gradients of all floating-point outputs; it gives the gradient of each input, None for none.
            Without it PyTorch computes the function again, and differentiates it.
    Raises: E0101 for what is no function.
    """
    if not callable(function) or not (backward is None or callable(backward)):
        wrong = backward if callable(function) else function
        raise Error("E0101", f"a {type(wrong).__name__} is no function that a model could call", hint="ttc.host(function, backward=None)")
    key = (_identity(function), _identity(backward))
    if key not in _NAMES:
        _NAMES[key] = f"{getattr(function, '__qualname__', type(function).__name__)}#{next(_NUMBERS)}"
        _add(_NAMES[key], lambda xs, _: _listed(function(*xs)))
        _add(_NAMES[key] + GRADIENT, lambda values, own: _gradients(function, backward, values[:own], values[own:]))
    name = _NAMES[key]

    @functools.wraps(function, updated=())
    def called(*inputs: torch.Tensor) -> Any:
        found = torch.ops.ttc.host_call(list(inputs), name, len(inputs))
        return found[0] if len(found) == 1 else tuple(found)

    return called


def _identity(function: Any) -> Any:
    """Return what is equal for equal functions: objects that are called may have no hash, and are themselves alone."""
    try:
        hash(function)
    except TypeError:
        return ("object", id(function))  # it is kept, and no other object gets its number
    return function


def _add(name: str, function: Callable[[Tensors, int], list[torch.Tensor]]) -> None:
    def on_arrays(arrays: Sequence[NDArray[Any]], own: int) -> list[NDArray[Any]]:
        from ttc.dynamo.tensors import tensor_of
        from ttc.importers.torch.dtypes import dtype_of
        from ttc.importers.torch.weights import array_of

        with torch.no_grad():
            found = function([tensor_of(np.array(array, order="C")) for array in arrays], own)
        return [array_of(y.contiguous(), dtype_of(y.dtype)) for y in found]

    _KNOWN[name], FUNCTIONS[name] = function, on_arrays


def _listed(found: Any) -> list[torch.Tensor]:
    given = [found] if isinstance(found, torch.Tensor) else list(found) if isinstance(found, tuple | list) else []
    if not given or not all(isinstance(y, torch.Tensor) for y in given):
        raise TypeError(f"it gives a {type(found).__name__}, and no tensor")
    return [y.detach() for y in given]


def _gradients(function: Any, backward: Any, xs: Tensors, dys: Tensors) -> list[torch.Tensor]:
    """Gradients of the floating-point inputs; zeros where there are none."""
    smooth = [x.is_floating_point() for x in xs]
    if backward is not None:
        given = backward(*xs, *dys)
        found = list(given) if isinstance(given, tuple | list) else [given]
        if len(found) != len(xs):
            raise TypeError(f"its backward function gives {len(found)} gradients of {len(xs)} inputs")
        chosen = [dx for dx, is_smooth in zip(found, smooth, strict=True) if is_smooth]
    else:
        with torch.enable_grad():
            leaves = [x.detach().clone().requires_grad_(is_smooth) for x, is_smooth in zip(xs, smooth, strict=True)]
            given = function(*leaves)
            outputs = [y for y in ([given] if isinstance(given, torch.Tensor) else given) if y.is_floating_point()]
            pairs = [(y, dy) for y, dy in zip(outputs, dys, strict=True) if y.requires_grad]
            wanted = [leaf for leaf in leaves if leaf.requires_grad]
            ends = [y for y, _ in pairs], wanted, [dy for _, dy in pairs]
            chosen = list(torch.autograd.grad(*ends, allow_unused=True)) if pairs else [None] * len(wanted)
    like = [x for x, is_smooth in zip(xs, smooth, strict=True) if is_smooth]
    return [torch.zeros_like(x) if dx is None else dx.detach().to(x.dtype) for x, dx in zip(like, chosen, strict=True)]


@torch.library.custom_op("ttc::host_call", mutates_args=())
def _host_call(xs: list[torch.Tensor], function: str, count: int) -> list[torch.Tensor]:
    if not function.endswith(GRADIENT):
        return [y.clone() for y in _KNOWN[function](xs, count)]
    with ThreadPoolExecutor(1, "ttc-host") as other:  # in the thread of an op PyTorch records nothing that it could differentiate
        return [y.clone() for y in other.submit(_KNOWN[function], xs, count).result()]


def _fake(xs: list[torch.Tensor], function: str, count: int) -> list[torch.Tensor]:
    """Tensors like the results: those of gradients are like the inputs, others are learnt by a call with zeros."""
    if function.endswith(GRADIENT):
        return [torch.empty_like(x) for x in xs[:count] if x.is_floating_point()]
    shapes = [(tuple(int(size) for size in x.shape), x.dtype) for x in xs]
    with unset_fake_temporarily():  # PyTorch has no other way to compute while it traces
        found = [(y.shape, y.dtype) for y in _KNOWN[function]([torch.zeros(shape, dtype=dtype) for shape, dtype in shapes], count)]
    return [torch.empty(shape, dtype=dtype, device=xs[0].device if xs else None) for shape, dtype in found]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    ctx.save_for_backward(*inputs[0])
    ctx.function = inputs[1]
    ctx.like = [(y.shape, y.dtype) for y in output]


def _backward(ctx: Any, dys: list[torch.Tensor | None]) -> tuple[list[torch.Tensor | None], None, None]:
    xs = list(ctx.saved_tensors)
    pairs = [(dy, shape, dtype) for dy, (shape, dtype) in zip(dys, ctx.like, strict=True) if dtype.is_floating_point]
    given = [torch.zeros(shape, dtype=dtype) if dy is None else dy for dy, shape, dtype in pairs]
    found = iter(torch.ops.ttc.host_call([*xs, *given], ctx.function + GRADIENT, len(xs)))
    return [next(found) if x.is_floating_point() else None for x in xs], None, None


_host_call.register_fake(_fake)
_host_call.register_autograd(_backward, setup_context=_keep)
