"""Shapes of a model's outputs, told without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Program as Entry
from ttc.dialects.nn.kernels.probe import OUTPUT
from ttc.runtime.arguments import outputs_of
from ttc.train.updates import MARKED_LOSS

Shape: TypeAlias = tuple[int, ...]


def shapes_of(model: Any, inputs: Sequence[Any], program: Entry | None, count: int) -> tuple[Shape, ...]:
    """Return the shapes of outputs of so many microbatches that stand one after another.

    Args:
        model: a module of PyTorch, which is asked by its own shape rules; else the program is.
        inputs: of one microbatch.
        program: that gives the outputs of one microbatch, where there is one.
        count: of microbatches; 0: no outputs.
    Raises: E0101 for a file that is not compiled; E0202 where PyTorch cannot tell.
    """
    if not count:
        return ()
    own = _of_module(model, inputs) if hasattr(model, "named_parameters") else _of_program(program)
    return tuple((shape[0] * count, *shape[1:]) if shape else ((count,) if count > 1 else ()) for shape in own)


def _of_program(program: Entry | None) -> list[Shape]:
    if program is None:
        raise Error("E0101", "the shapes of a model's outputs are known once it is compiled")
    return [tuple(result.shape) for result in outputs_of(program) if not result.name.startswith(OUTPUT) and result.name != MARKED_LOSS]


def _of_module(model: Any, inputs: Sequence[Any]) -> list[Shape]:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils import _pytree as pytree

    from ttc.importers.torch.tracing import tracing

    with tracing("E0202", f"PyTorch cannot tell the shapes of {type(model).__name__}"), FakeTensorMode(allow_non_fake_inputs=True) as fake:
        found = torch.func.functional_call(
            model,
            {name: fake.from_tensor(x) for name, x in [*model.named_parameters(), *model.named_buffers()]},
            tuple(fake.from_tensor(x) for x in inputs),
        )
    return [tuple(x.shape) for x in pytree.tree_leaves(found) if isinstance(x, torch.Tensor)]
