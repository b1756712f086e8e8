"""Recurrent layers while PyTorch traces: what their results look like is known from their operands.

PyTorch itself would go through all steps of a sequence for it, a second and more for a hundred of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensor

_KEY = torch._C.DispatchKey.CompositeImplicitAutograd
_OPS = tuple(getattr(torch.ops.aten, name).input for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"))
_TRACING: ContextVar[bool] = ContextVar("_TRACING", default=False)


@contextmanager
def recurrent_shapes() -> Iterator[None]:
    """Let layers over whole sequences give tensors without values where they are traced inside the block, in this thread."""
    _install()
    token = _TRACING.set(True)
    try:
        yield
    finally:
        _TRACING.reset(token)


@cache
def _install() -> None:
    """Put shapes in front of what PyTorch traces of each layer; versions that do so by other means are left alone."""
    for op in _OPS:
        steps = getattr(op, "py_kernels", {}).get(_KEY)
        if steps is not None:
            op.py_kernels[_KEY] = _or_shapes(steps)
            op._dispatch_cache.clear()
        steps = decomposition_table.get(op)  # by which results look where the op is kept as it is
        if steps is not None:
            decomposition_table[op] = _or_shapes(steps)


def _or_shapes(steps: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(steps)  # PyTorch looks at the module's name
    def layer(x: Any, states: Any, *rest: Any) -> Any:
        first = states[0] if isinstance(states, list | tuple) else states
        if not _TRACING.get() or not isinstance(x, FakeTensor) or not isinstance(first, FakeTensor) or x.dim() != 3:
            return steps(x, states, *rest)
        bidirectional, batch_first = rest[-2:]
        features = first.shape[-1] * (2 if bidirectional else 1)
        rows, columns = (x.shape[1], x.shape[0]) if batch_first else x.shape[:2]
        found = x.new_empty((rows, columns, features))
        ends = [torch.empty_like(state) for state in (states if isinstance(states, list | tuple) else [states])]
        return found.transpose(0, 1) if batch_first else found, *ends

    return layer
