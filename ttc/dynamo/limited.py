"""Functions that are compiled a bounded number of times, then end in an error, and that PyTorch does not run itself unsaid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch._dynamo import config
from torch._dynamo.exc import FailOnRecompileLimitHit
from torch._dynamo.utils import counters

from ttc.dialects.core.errors import Error, warn
from ttc.runtime.metrics import counter

MAX_VARIANTS = 64
"""The most ways in which one function is compiled: for shapes, and for what differs in Python between its calls."""
CAPTURING = "a graph is captured or replayed"
"""Why functions of `ttc.graphs` are called from Python: a frame that they are in is its author's graph, and nothing is missed there."""
_FALLBACKS = counter("fallbacks")
_LEFT_OUT: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Why frames were left to Python, by the code of functions that called them: TorchDynamo does not come back to them in this process."""
_HINT = "calls that no graph takes in, and numbers that are read from tensors, lie outside of loops and try blocks"


def compile_limited(function: Callable[..., Any], name: str, options: Mapping[str, Any], **of_dynamo: Any) -> Callable[..., Any]:
    """Return a function that is compiled when it is first called, and whenever a call differs from all before.

    It raises E0805 where a call is one of too many ways: PyTorch would run the function itself from then on.  So it does where TorchDynamo
    takes no graph from a frame: that is E0202, or with the option `fallback` a warning, and counted as a fallback.

    Args:
        name: that the error has for it.
        options: of the backend.
        of_dynamo: further arguments of `torch.compile`.
    """
    make: Any = torch.compile  # whose overloads say less than it takes
    compiled = make(function, backend="ttc", options=dict(options), recompile_limit=MAX_VARIANTS, **of_dynamo)
    code: Any = getattr(function, "__code__", function)
    told = False

    def run(*args: Any, **named: Any) -> Any:
        nonlocal told
        before, known = _left_out(), dict(counters["unimplemented"])
        with config.patch(fail_on_recompile_limit_hit=True):
            try:
                found = compiled(*args, **named)
            except FailOnRecompileLimitHit as error:
                what = f"{name} differs between its calls in more than {MAX_VARIANTS} ways, each of which is compiled"
                hint = "TORCH_LOGS=recompiles says in what; rows are filled up to a few numbers, and numbers that change go into tensors"
                raise Error("E0805", what, hint=hint) from error
        if _left_out() > before:
            reasons = [reason for reason, count in counters["unimplemented"].items() if count > known.get(reason, 0)] or [""]
            if CAPTURING not in reasons[-1]:
                _LEFT_OUT[code] = reasons[-1].partition("\n")[0][:200]
        if code in _LEFT_OUT and not told:
            told = True
            _tell(name, _LEFT_OUT[code], falls_back=bool(options.get("fallback", True)))
        return found

    return run


def _left_out() -> int:
    """Count the frames that TorchDynamo began to trace and left to Python."""
    frames = counters["frames"]
    return frames["total"] - frames["ok"]


def _tell(name: str, reason: str, *, falls_back: bool) -> None:
    """Warn of frames that were left to Python.  Raises E0202 where that is not wanted."""
    what = f"TorchDynamo takes no graph from {name}, or a function that it calls: {reason or 'TORCH_LOGS=graph_breaks says why'}"
    hint = "torch._dynamo.config.allow_rnn = True takes recurrent layers in, step by step" if "RNN" in reason else _HINT
    if not falls_back:
        raise Error("E0202", what, hint=hint)
    _FALLBACKS.add(1, "E0202", name, reason)
    warn(f"PyTorch runs it itself: {what}; {hint}")
