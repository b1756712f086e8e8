"""Stages of a model, as its author marks them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import torch
import torch.fx.traceback as fx_traceback

from ttc.dialects.core.errors import Error

KEY = "ttc_stage"
"""The key in `meta["custom"]` under which a node of an exported graph has its stage."""
_BEGUN: list[int] = []
"""Stages in the order in which the last export has begun them."""
F = TypeVar("F", bound=Callable[..., Any])


class stage:  # noqa: N801 - written like the function that it is used as
    """Marks ops of a PyTorch model as those of a stage, until the next stage begins.  It changes no number.

    `with ttc.stage(1):` marks what is inside, `ttc.stage(1).start()` what follows, `@ttc.stage(1)` a function, and `ttc.stage(1)(module)` a
    module, in place.

    Args:   number: of the stage, counted from 0.
    Raises: E0101 for another number, or a module that has a stage.
    """

    def __init__(self, number: int) -> None:
        if type(number) is not int or number < 0:
            raise Error("E0101", f"a stage cannot have number {number!r}", hint="stages are counted from 0")
        self.number = number

    def start(self) -> None:
        """Let what follows be of this stage."""
        if torch.compiler.is_exporting():
            _BEGUN.append(self.number)
            fx_traceback.current_meta["custom"] = {**fx_traceback.current_meta.get("custom", {}), KEY: self.number}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stay in this stage: the next one begins where it is marked."""

    def __call__(self, marked: F) -> F:
        """Mark a module in place, or a function."""
        if isinstance(marked, torch.nn.Module):
            if getattr(marked, KEY, None) is not None:
                raise Error("E0101", f"a {type(marked).__name__} is of stage {getattr(marked, KEY)} already", hint="mark it once")
            setattr(marked, KEY, self.number)
            marked.register_forward_pre_hook(lambda *_: self.start())
            return marked  # pyright: ignore[reportReturnType] - what was given

        @functools.wraps(marked)
        def inside(*arguments: Any, **named: Any) -> Any:
            self.start()
            return marked(*arguments, **named)

        return inside  # pyright: ignore[reportReturnType] - of the same signature


@contextmanager
def tracing_stages() -> Iterator[None]:
    """Keep marks of stages while a model is exported; each export begins in stage 0."""
    before = dict(fx_traceback.current_meta)
    fx_traceback.current_meta.pop("custom", None)
    _BEGUN.clear()
    try:
        with fx_traceback.preserve_node_meta():
            yield
    finally:
        fx_traceback.current_meta.clear()
        fx_traceback.current_meta.update(before)


def stages_begun() -> tuple[int, ...]:
    """Return the stages that the last export has begun, in order, without repeats in a row; one that begins none has stage 0."""
    order = [number for place, number in enumerate(_BEGUN) if place == 0 or _BEGUN[place - 1] != number]
    return tuple(order) or (0,)


def stages_of_nodes(graph: torch.fx.Graph) -> dict[torch.fx.Node, int]:
    """Return the stage of each node of a graph that was exported under `tracing_stages`, in their order."""
    found: dict[torch.fx.Node, int] = {}
    now = 0
    for node in graph.nodes:
        if node.op == "call_function":
            now = node.meta.get("custom", {}).get(KEY, now)
        found[node] = now
    return found
