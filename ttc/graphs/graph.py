"""A captured graph: begun, ended, replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from types import TracebackType
from typing import Any, TypeVar, cast

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from ttc.dialects.core.errors import Error
from ttc.dynamo.graph import AtenGraph
from ttc.dynamo.limited import CAPTURING
from ttc.dynamo.session import Placeholder
from ttc.dynamo.settings import read_settings
from ttc.graphs.functional import Functional, functional
from ttc.graphs.tape import ReadGuard, Tape

_NUMBERS = count()
CallT = TypeVar("CallT", bound=Callable[..., Any])


def apart(function: CallT) -> CallT:
    """Let a function be called from Python where TorchDynamo traces what calls it."""
    return cast("CallT", torch.compiler.disable(function, reason=CAPTURING))


def is_captured() -> bool:
    """Return whether what this thread does is being captured."""
    return any(isinstance(mode, Tape) for mode in _get_current_dispatch_mode_stack())


class Graph:
    """Work of PyTorch that was captured once and can be replayed on the same memory; like `torch.cuda.CUDAGraph`.

    Args:
        option_fields: how it is compiled, as `options` of `torch.compile(backend="ttc")`.  A graph that cannot be compiled is an error,
            with `fallback=True` PyTorch runs it.
    Raises: E0101 for options, E0104 for a machine on which ttc does not run.
    """

    def __init__(self, **option_fields: Any) -> None:
        self._settings = read_settings({"fallback": False, **option_fields})
        self._name = f"captured_{next(_NUMBERS)}"
        self._capture: tuple[Tape, ExitStack] | None = None
        self._work: tuple[Functional, AtenGraph] | None = None
        self._infers = False
        self._released: tuple[tuple[torch.UntypedStorage, int], ...] = ()

    @apart
    def capture_begin(self, pool: object = None, capture_error_mode: str = "global", check_input_liveness: bool = False) -> None:
        """Run what this thread does from here on, and note it.

        Args:   as in torch.cuda, where they concern memory and streams, which are none here.
        Raises: E0814 if the graph holds work already, or another capture is under way in this thread.
        """
        del pool, capture_error_mode, check_input_liveness
        if self._capture is not None or self._work is not None:
            raise Error("E0814", "the graph holds work already", hint="reset() it, or take another one")
        if is_captured():
            raise Error("E0814", "a graph is captured within the capture of another one", hint="capture them one after the other")
        tape, stack = Tape(), ExitStack()
        self._infers = not torch.is_grad_enabled()
        stack.enter_context(_tracing())
        stack.enter_context(ReadGuard())
        stack.enter_context(tape)
        self._capture = tape, stack

    @apart
    def capture_end(self) -> None:
        """End the capture, and compile what was captured.

        Raises: E0814 if nothing is captured, or not as a graph; E02xx for ops that are not supported.
        """
        if self._capture is None:
            raise Error("E0814", "nothing is being captured")
        tape = self._ended()
        work = functional(tape)
        pairs = enumerate(work.parameters)
        placeholders = [Placeholder(f"tensor_{i}", held=self._infers and parameter) for i, parameter in pairs]
        made = AtenGraph(work.graph, self._name, placeholders, self._settings)
        if work.outputs:
            made.prepare(work.inputs)
        self._work = work, made

    @apart
    def replay(self) -> None:
        """Do the work again: it reads what the tensors of the capture hold now, and writes its results into them.  Raises E0814, E08xx."""
        if self._work is None:
            raise Error("E0814", "nothing was captured", hint="capture_begin(), the work, capture_end()")
        work, made = self._work
        if not work.outputs:
            return
        for memory, size in self._released:
            memory.resize_(size)
        self._released = ()
        with torch.no_grad():
            for memory, value in zip(work.outputs, made(list(work.inputs)), strict=True):
                memory.copy_(value)

    @apart
    def release_outputs(self) -> None:
        """Give the memory of what the work makes back; the tensors that show it hold nothing until the next replay.

        Raises: E0814 if nothing was captured.
        """
        if self._work is None:
            raise Error("E0814", "nothing was captured", hint="capture_begin(), the work, capture_end()")
        work, _ = self._work
        if not self._released:
            storages = [memory.untyped_storage() for memory in work.outputs[work.written :]]
            self._released = tuple((storage, storage.nbytes()) for storage in storages)
        for memory, _ in self._released:
            memory.resize_(0)

    def reset(self) -> None:
        """Give the work up, and the memory that was kept for it."""
        if self._capture is not None:
            self._ended()
        self._work, self._released = None, ()

    def pool(self) -> tuple[int, int]:
        """Return a handle as torch.cuda has it: graphs share no memory here."""
        return (0, id(self))

    def instantiate(self) -> None:
        """Do nothing: a graph is compiled when its capture ends."""

    def _ended(self) -> Tape:
        assert self._capture is not None
        tape, stack = self._capture
        self._capture = None
        stack.close()
        return tape


class graph:  # noqa: N801  the name that torch.cuda gives it
    """Capture what is inside as work of a graph; like `torch.cuda.graph`.

    Args:
        cuda_graph: the graph, which holds no work yet; the name is torch.cuda's.
        pool, stream, capture_error_mode: as in torch.cuda, without meaning here.
    """

    def __init__(self, cuda_graph: Graph, pool: object = None, stream: object = None, capture_error_mode: str = "global") -> None:
        self._graph = cuda_graph
        self._mode = capture_error_mode
        del pool, stream

    @apart
    def __enter__(self) -> None:
        self._graph.capture_begin(capture_error_mode=self._mode)

    @apart
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._graph.capture_end()
        else:
            self._graph.reset()


@contextmanager
def _tracing() -> Iterator[None]:
    """Tell libraries that their work is traced, as torch.compile does: optimizers then keep counts of steps in tensors."""
    before = torch.compiler._is_compiling_flag
    torch.compiler._is_compiling_flag = True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag = before
