"""From a model of transformers to one program whose entries generate tokens over a cache that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source
from ttc.compiler.variants import Imported, joined
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import set_module_attr
from ttc.generation.cached_model import CachedModel, CacheShape, head_of
from ttc.importers.torch import import_module
from ttc.options import CompileOptions
from ttc.runtime.generation_notes import COUNTS, LOGITS, STARTS, TOKENS

if TYPE_CHECKING:
    from ttc.passes.base import Instrument
    from ttc.runtime.program import Program

CHUNKS = (16, 128)
"""The tokens of a row that the programs for prompts take, unless others are asked for."""
MOST_POSITIONS = 2048
"""The most tokens that a cache holds, unless somebody says how many."""
DECODE, PREFILL = "decode", "prefill"
"""The names of the program for one token, and of the one for the longest chunk; shorter ones are called `prefill_16`."""


def compile_generation(
    model: Any, batch: int, max_length: int, chunks: Sequence[int], options: CompileOptions, watchers: Sequence[Instrument] = ()
) -> Program:
    """Compile a model into one program that generates.

    Args:    model: a causal model of transformers.  batch: rows.  max_length: tokens that the cache holds.
             chunks: tokens that programs for prompts take; longer ones than the cache are left out.
    Raises:  E0101 for sizes, E0104 without transformers, E0202 for a model that does not fit, and what compilation raises.
    """
    programs = programs_for(max_length, chunks)
    cached = wrapped(model, batch, max_length)
    imported: list[tuple[str, *Imported]] = []
    with torch.no_grad():
        for name, count in programs.items():
            shapes = {TOKENS: (batch, count), STARTS: (batch,), COUNTS: (batch,)}
            examples = {key: torch.zeros(shape, dtype=torch.int64) for key, shape in shapes.items()}
            module, weights = import_module(cached, examples, name=type(model).__name__)
            imported.append((name, module, weights))
    module, weights = joined(imported)
    vocabulary = head_of(model).out_features
    notes = {
        "batch": batch,
        "max_length": max_length,
        "vocabulary": vocabulary,
        "wide": (*cached.cache, LOGITS),
        "stop": stop_tokens(model, vocabulary),
    }
    set_module_attr(module, "generation", {"programs": tuple(programs.items()), **notes})
    return compile_source(Source(module, weights, "import"), options, watchers).program()


def default_length(model: Any) -> int:
    """Return how many tokens the cache holds unless somebody says: the model's positions, as far as they are not too many."""
    config = model.config.get_text_config() if hasattr(model, "config") else None
    return min(getattr(config, "max_position_embeddings", None) or MOST_POSITIONS, MOST_POSITIONS)


def programs_for(max_length: int, chunks: Sequence[int]) -> dict[str, int]:
    """Return the tokens that each program takes, by name.  Raises E0101."""
    if max_length < 1 or any(size < 2 for size in chunks):
        raise Error("E0101", "max_length is at least 1, and a chunk at least 2 tokens", hint="decode takes single tokens")
    sizes = sorted({min(size, max_length) for size in chunks if size > 1} - {1}, reverse=True)
    return {DECODE: 1, **{PREFILL if index == 0 else f"{PREFILL}_{size}": size for index, size in enumerate(sizes)}}


def wrapped(model: Any, batch: int, max_length: int) -> CachedModel:
    """Return the model with its cache as buffers.  Raises E0101, E0104, E0202."""
    try:
        from transformers import PreTrainedModel
    except ImportError:
        raise Error(
            "E0104", "ttc.generator takes models of transformers, which is not installed", hint="pip install transformers"
        ) from None
    if not isinstance(model, PreTrainedModel):
        raise Error("E0201", f"a {type(model).__name__} is no model of transformers", hint="give a ...ForCausalLM")
    if batch < 1:
        raise Error("E0101", f"a batch has at least one row, not {batch}")
    if model.training:
        raise Error("E0101", f"{type(model).__name__} is in training mode", hint="call its eval()")
    head_of(model)
    config = model.config.get_text_config()
    longest = getattr(config, "max_position_embeddings", None)
    if longest is not None and max_length > longest:
        raise Error("E0101", f"max_length {max_length} is more than the {longest} positions of the model")
    return CachedModel(model, batch, max_length, cache_shapes(config), model.dtype).eval()


def cache_shapes(config: Any) -> tuple[CacheShape, ...]:
    """Return the caches of a model's layers, from its configuration."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return (CacheShape(heads, width, width),) * config.num_hidden_layers


def stop_tokens(model: Any, vocabulary: int) -> tuple[int, ...]:
    """Return the tokens that end a text, as the model's configuration names them."""
    for config in (getattr(model, "generation_config", None), model.config):
        found = getattr(config, "eos_token_id", None)
        if found is not None:
            return tuple(t for t in ([found] if isinstance(found, int) else found) if 0 <= t < vocabulary)
    return ()
