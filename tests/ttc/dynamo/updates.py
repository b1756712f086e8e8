"""Ways to change the tensors of a model between two calls of it, as training loops and users do."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Update = Callable[[nn.Module], None]
"""Changes a model; given a gradient in every parameter."""


def _steps(kind: Any, **options: Any) -> Update:
    """A step of an optimizer, which is made when the model is first seen."""

    def update(model: nn.Module) -> None:
        made = vars(model).setdefault("_optimizers", {})
        if update not in made:
            made[update] = kind(model.parameters(), **options)
        made[update].step()

    return update


def _compiled_step(model: nn.Module) -> None:
    if "_compiled" not in vars(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        vars(model)["_compiled"] = torch.compile(optimizer.step, backend="aot_eager")
    vars(model)["_compiled"]()


def _data_add(model: nn.Module) -> None:
    for p in model.parameters():
        p.data.add_(0.125)


def _data_of_another(model: nn.Module) -> None:
    for p in model.parameters():
        p.data = p.data * 1.5 + 0.0625


def _swapped_data(model: nn.Module) -> None:
    one, other = (p for p in model.parameters() if p.shape == (4, 4))
    one.data, other.data = other.data, one.data


def _no_grad(model: nn.Module) -> None:
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(-1)


def _views(model: nn.Module) -> None:
    """Through views that no graph sees, of memory and not of values."""
    for p in model.parameters():
        p.data.view(-1)[::2].sub_(0.25)
        p.data.view(torch.int32).view(-1)[-1:].bitwise_xor_(1 << 31)


def _detached(model: nn.Module) -> None:
    for p in model.parameters():
        p.detach().copy_(p.detach().flip(0) * 0.875)


def _through_numpy(model: nn.Module) -> None:
    for p in model.parameters():
        p.detach().numpy()[...] += 0.5


def _one_bit(model: nn.Module) -> None:
    for p in model.parameters():
        p.detach().numpy().reshape(-1)[-1] *= -1


def _foreign_memory(model: nn.Module) -> None:
    for p in model.parameters():
        value = p.detach().flip(0).contiguous()
        ctypes.memmove(p.data_ptr(), value.data_ptr(), p.numel() * p.element_size())


def _dlpack(model: nn.Module) -> None:
    for p in model.parameters():
        torch.from_dlpack(p.detach()).mul_(0.75)


def _foreach(model: nn.Module) -> None:
    torch._foreach_add_([p.data for p in model.parameters()], 0.25)  # pyright: ignore[reportPrivateImportUsage]


def _set(model: nn.Module) -> None:
    with torch.no_grad():
        for p in model.parameters():
            p.set_(p.detach() * 0.5 + 1)


def _versionless(model: nn.Module) -> None:
    with torch.no_grad():
        for p in model.parameters():
            before = p._version
            p.add_(0.3)
            torch._C._autograd._unsafe_set_version_counter((p,), (before,))  # pyright: ignore[reportAttributeAccessIssue]


def _inference_mode(model: nn.Module) -> None:
    with torch.inference_mode():
        for p in model.parameters():
            p.data.add_(0.2)


def _load(model: nn.Module) -> None:
    model.load_state_dict({name: value * 0.5 for name, value in model.state_dict().items()})


def _assign(model: nn.Module) -> None:
    gradients = [p.grad for p in model.parameters()]
    model.load_state_dict({name: value * 0.5 for name, value in model.state_dict().items()}, assign=True)
    for p, gradient in zip(model.parameters(), gradients, strict=True):
        p.grad = gradient


def _vector(model: nn.Module) -> None:
    flat = nn.utils.parameters_to_vector(model.parameters()).detach()
    nn.utils.vector_to_parameters(flat * 2, model.parameters())


def _other_parameters(model: nn.Module) -> None:
    for module in list(model.modules()):
        for name, p in list(module.named_parameters(recurse=False)):
            replaced = nn.Parameter(p.detach() * 0.5)
            replaced.grad = p.grad
            setattr(module, name, replaced)


def _average(model: nn.Module) -> None:
    averaged = torch.optim.swa_utils.AveragedModel(copy.deepcopy(nn.Sequential(*model.children())))
    for ours, theirs in zip(model.parameters(), averaged.parameters(), strict=True):
        ours.data.lerp_(theirs.data + 1, 0.5)


def _buffers(model: nn.Module) -> None:
    for buffer in model.buffers():
        if buffer.is_floating_point():
            buffer.numpy()[...] += 0.25


def _layout(model: nn.Module) -> None:
    """The same values at other places, and one of them changed."""
    for p in model.parameters():
        if p.ndim == 2:
            p.data = p.data.t().contiguous().t()
            p.data[0, 0] += 1


# The last leave a model with other parameters, or laid out otherwise.
UPDATES: dict[str, Update] = {
    "SGD": _steps(torch.optim.SGD, lr=0.05, momentum=0.9),
    "SGD, foreach": _steps(torch.optim.SGD, lr=0.05, foreach=True),
    "SGD, fused": _steps(torch.optim.SGD, lr=0.05, fused=True),
    "AdamW, fused": _steps(torch.optim.AdamW, lr=0.05, fused=True),
    "AdamW, foreach": _steps(torch.optim.AdamW, lr=0.05, foreach=True),
    "a compiled step": _compiled_step,
    "p.data.add_": _data_add,
    "p.data =": _data_of_another,
    "p.data, q.data = q.data, p.data": _swapped_data,
    "in place under no_grad": _no_grad,
    "views of p.data": _views,
    "copy_ through detach()": _detached,
    "an array of the memory": _through_numpy,
    "one sign in an array of the memory": _one_bit,
    "foreign code": _foreign_memory,
    "DLPack": _dlpack,
    "foreach": _foreach,
    "set_": _set,
    "in place, its version set back": _versionless,
    "in place in inference mode": _inference_mode,
    "load_state_dict": _load,
    "vector_to_parameters": _vector,
    "an average": _average,
    "buffers": _buffers,
    "load_state_dict, assign=True": _assign,
    "other parameters": _other_parameters,
    "another layout": _layout,
}
