"""Programs of PyTorch's modules: as an earlier process left them, or exported, imported and compiled.

Export and compilation go on in a copy of the process, where there can be one: what they load and make is many times the program, and the
process of the user keeps none of it.  The copy leaves the program in the cache, and tells its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ttc.compiler.kept import KeptCompilation, literal
from ttc.compiler.training_keywords import in_mode
from ttc.dialects.core.errors import Error
from ttc.importers.torch import ToImport, export_object
from ttc.importers.torch.weights import identity, weight_of
from ttc.options import CompileOptions
from ttc.runtime import metrics
from ttc.runtime.cpu import checked_threads
from ttc.runtime.engines.base import RemembersPlans
from ttc.runtime.engines.native.codegen.cache import process_cache
from ttc.runtime.engines.table import engine_named
from ttc.runtime.forked import MAX_BYTES, forked

if TYPE_CHECKING:
    from ttc.runtime.program import Program

Examples = Mapping[str, Any] | Sequence[Any] | None


def torch_program(model: Any, example_inputs: Examples, mode: bool | None, options: CompileOptions, collect: Callable[[], None]) -> Program:
    """Return the program of a module in a mode, or of a program of torch.export.

    collect: frees garbage.  Raises as `export_object`, `import_program` and `compile_source`.
    """
    if isinstance(model, torch.nn.Module) and process_cache().reason is None:
        tensors = _tensors(model)
        answer = forked(partial(_answer, model, tensors, example_inputs, mode, options), meanwhile=_load_engine)
        program = None if answer is None else _from_answer(answer, tensors)
        if program is not None:
            return program
    with in_mode(model, mode):
        exported = export_object(model, example_inputs)
    known = _known(exported, options)
    program = None if known is None else known.recall()
    return program or _compiled(exported, known, options, collect)


def _compiled(exported: ToImport, known: KeptCompilation | None, options: CompileOptions, collect: Callable[[], None]) -> Program:
    """Import and compile an exported program, and keep what becomes of it if its place is known."""
    from ttc.compiler.driver import compile_source
    from ttc.compiler.source import Source
    from ttc.importers.torch import import_program

    source = Source(*import_program(exported), "import")
    del exported
    collect()
    if known is None:
        return compile_source(source, options).program()
    known.watch(source.weights)
    return known.kept(compile_source(source, options))


def _known(exported: ToImport, options: CompileOptions) -> KeptCompilation | None:
    """Return the place of a program in the cache; None for one whose text does not tell all of it."""
    from ttc.importers.torch.fingerprint import fingerprint, tensors_of

    text, weights = fingerprint(exported.program, exported.name), tensors_of(exported.program)
    return None if text is None or weights is None else KeptCompilation.of(text, weights, options)


# ---- in a copy of the process --------------------------------------------------------------------------------------------------------


class _NotKept(Exception):
    """The program cannot be passed on by the cache."""


def _tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters and buffers by all of their names."""
    return {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}


def _load_engine() -> None:
    """Load what runs programs, and have ready what the engine needs for all of them."""
    import_module("ttc.runtime.machine.session")
    engine = engine_named(None, checked_threads(None))
    if isinstance(engine, RemembersPlans):
        with suppress(Error):  # where nothing can be compiled, whoever runs the program says so
            engine.prepare_cache()


def _answer(
    model: torch.nn.Module, tensors: Mapping[str, torch.Tensor], example_inputs: Examples, mode: bool | None, options: CompileOptions
) -> bytes:
    """Have the program in the cache, and tell its place, its tensors, and what was counted.  Raises _NotKept, and as `torch_program`."""
    from ttc.importers.torch.fingerprint import tensor_of

    torch.set_num_threads(1)  # those of OpenMP are not copied
    before = metrics.current()
    with in_mode(model, mode):
        exported = export_object(model, example_inputs)
    known = _known(exported, options)
    if known is None or known.is_refused:
        raise _NotKept
    shared = [name for name in known.weights if name in tensors and _is_same(tensors[name], tensor_of(exported.program, name))]
    own = {name: weight.value() for name, weight in known.weights.items() if name not in shared}
    if sum(value.nbytes for value in own.values()) > MAX_BYTES:
        raise _NotKept
    if known.recall() is None:
        _compiled(exported, known, options, lambda: None)
        if known.is_refused:
            raise _NotKept
    head = {
        "entry": known.entry,
        "shared": shared,
        "own": {name: [str(value.dtype), value.shape] for name, value in own.items()},
        "counted": metrics.changes(before),
    }
    return b"".join([json.dumps(head).encode(), b"\n", *(value.tobytes() for value in own.values())])


def _is_same(tensor: torch.Tensor, other: torch.Tensor | None) -> bool:
    return other is not None and identity(tensor) == identity(other)


def _from_answer(answer: bytes, tensors: Mapping[str, torch.Tensor]) -> Program | None:
    """Return the program that a copy has left; None if it is no longer there."""
    first, _, values = answer.partition(b"\n")
    head = json.loads(first)
    weights = {name: weight_of(tensors[name], name) for name in head["shared"]}
    for name, (dtype, shape) in head["own"].items():
        size = prod(shape) * np.dtype(dtype).itemsize
        weights[name] = literal(np.frombuffer(values[:size], np.dtype(dtype)).reshape(shape))
        values = values[size:]
    program = KeptCompilation(process_cache(), head["entry"], weights).found()
    if program is not None:
        metrics.add_changes(head["counted"])
    return program
