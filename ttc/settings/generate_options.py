"""The options of the command `ttc generate`."""

from __future__ import annotations

from typing import ClassVar

import ttc.settings.option_values as takes
from ttc.dialects.core.records import record
from ttc.settings.records import Options, choice, option


@record(kw_only=True)
class GenerateOptions(Options):
    """The options of `ttc generate`: none is part of an archive."""

    TABLE: ClassVar[str] = "generate"

    max_tokens: int | None = option(
        None, "Tokens to generate at most; default: until the text ends, or the cache is full.", takes.integer(1), "N"
    )
    temperature: float = option(0.0, "What logits are divided by; 0 takes the most probable token.", takes.rate, "X")
    top_k: int | None = option(None, "Draw from the K most probable tokens.", takes.integer(1), "K")
    top_p: float | None = option(None, "Draw from the fewest tokens that have this share of the probability.", takes.correlation, "X")
    seed: int = option(0, "Of the draws.", takes.integer(0), "N")
    stop: tuple[str, ...] = option(
        (), "Text that ends what is generated; without a tokenizer, a token (repeatable).", takes.texts, "TEXT", repeated=True
    )
    engine: str = choice(takes.ENGINES[0], "What executes the netlist.", takes.ENGINES)
    threads: int | None = option(None, "CPU threads; default: all that this process may use.", takes.threads, "N")
