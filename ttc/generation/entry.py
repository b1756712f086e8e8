"""`ttc.generator`: from a model, or an archive of one, to a generator of tokens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.generation.generator import Generator
from ttc.loading import load, on_engine, options_for
from ttc.options import CompileOptions, RunOptions
from ttc.settings.records import settings


def generator(
    model: Any, *, batch: int | None = None, max_length: int | None = None, chunks: Sequence[int] | None = None, **option_fields: Any
) -> Generator:
    """Make a generator of tokens.

    Args:
        model: a causal model of transformers (GPT-2, Llama, Mistral, Qwen and their like); or the path of an archive, for which neither
            torch nor transformers is loaded.
        batch: rows, each with a text of its own; default: 1.
        max_length: tokens that the cache holds for each row; default: as many as the model has positions, 2048 at most.
        chunks: tokens of a row that the programs for prompts take; default: 16 and 128.
        option_fields: fields of RunOptions (engine, threads, exact, ...), and for a model those of CompileOptions (target, format, ...).
    Raises: E0101 for options, E0104 without transformers, E0202 for a model whose cache is not kept in the library's way, E0803 for an
        archive that does not generate, and what `ttc.compile` and `ttc.load` raise.
    """
    running = {item.name: option_fields.pop(item.name) for item, _ in settings(RunOptions) if item.name in option_fields}
    if isinstance(model, str | os.PathLike):
        given = {"batch": batch, "max_length": max_length, "chunks": chunks, **option_fields}
        superfluous = [name for name, value in given.items() if value is not None]
        if superfluous:
            raise Error("E0101", f"an archive is compiled already: {', '.join(superfluous)} cannot be chosen any more")
        return Generator(load(model, **running))
    options: RunOptions = options_for(RunOptions, None, running)
    compiling: CompileOptions = options_for(CompileOptions, None, option_fields)
    from ttc.importers.torch import require_torch

    require_torch()
    from ttc.generation.compiling import CHUNKS, compile_generation, default_length
    from ttc.runtime.executor import Executor

    length = default_length(model) if max_length is None else max_length
    compiled = compile_generation(model, 1 if batch is None else batch, length, CHUNKS if chunks is None else chunks, compiling)
    return Generator(Executor(on_engine(compiled, options)))
