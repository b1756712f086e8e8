"""Arguments of a model as PopTorch takes them, by place or name and nested, and as executors take them: arrays in order."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error


class Nesting:
    """How the arguments of a model nest, which is the same in all calls: tuples, lists, mappings, and values that are no arrays.

    Args:
        model: of PyTorch, whose forward takes them.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._first: Any = None

    @contextmanager
    def flat(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the arrays among the arguments of a call; inside the block, the model's forward takes them in that order.

        Raises: E0801 for arguments that forward does not take, or that nest otherwise than those of the first call.
        """
        if not kwargs and all(map(_is_array, args)):
            yield tuple(args)
            return
        leaves, spec = pytree.tree_flatten(self._bound(args, kwargs))
        fixed = [None if _is_array(leaf) else (leaf,) for leaf in leaves]
        self._first = self._first or (spec, fixed)
        if self._first != (spec, fixed):
            raise Error("E0801", "arguments nest otherwise than in the first call, or what is no tensor has another value")
        forward, own = self._model.forward, "forward" in vars(self._model)

        def nested(*arrays: Any) -> Any:
            found = iter(arrays)
            by_place, by_name = pytree.tree_unflatten([next(found) if value is None else value[0] for value in fixed], spec)
            return forward(*by_place, **by_name)

        self._model.forward = nested
        try:
            yield tuple(leaf for leaf in leaves if _is_array(leaf))
        finally:
            if own:
                self._model.forward = forward
            else:
                del self._model.forward

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return all arguments of forward, with defaults of those that are left out."""
        try:
            bound = inspect.signature(self._model.forward).bind(*args, **kwargs)
        except TypeError as error:
            raise Error("E0801", f"the model does not take these arguments: {error}") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs


def _is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray | np.generic)
