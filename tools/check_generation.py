"""Compare the tokens that are generated with those of transformers, for seven kinds of models and prompts of many lengths.

    python tools/check_generation.py [--targets host,n150] [--batches 1,4] [--lengths 1,2,3,15,16,17,64,127,128,129,144,199,200]

Models are small and have random weights.  A row is a model, a target and a batch; it says the share of the most probable tokens that are
those of the library, 20 after each prompt.  The exit status is 1 where it is below the bar: all on the host, 0.9 on other targets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import transformers

import checkout  # noqa: F401 - finds ttc where it is not installed
import ttc

GENERATED, VOCABULARY, LENGTHS = 20, 101, (1, 2, 3, 15, 16, 17, 64, 127, 128, 129, 144, 199, 200)
DEVICE_BAR = 0.9
"""The share of tokens that numbers in a device's formats leave the same."""
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
GPT2: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "n_positions": 256,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
}
WINDOW = 24
KINDS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2)),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)),
    "mistral": lambda: transformers.MistralForCausalLM(transformers.MistralConfig(**SIZES, sliding_window=WINDOW)),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**SIZES)),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES, head_dim=32)),
    "phi": lambda: transformers.PhiForCausalLM(transformers.PhiConfig(**SIZES)),
    "gemma": lambda: transformers.GemmaForCausalLM(transformers.GemmaConfig(**SIZES, head_dim=16)),
}


def model_of(kind: str) -> Any:
    """Return the model of a kind, the same each time."""
    torch.manual_seed(0)
    return KINDS[kind]().eval()


def library_tokens(model: Any, prompt: Sequence[int]) -> list[int]:
    """Return the most probable tokens that transformers generates after a prompt, whatever ends texts."""
    tokens = torch.tensor([list(prompt)])
    with torch.no_grad():
        found = model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            max_new_tokens=GENERATED,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
    return found[0, len(prompt) :].tolist()


def batches_of(lengths: Sequence[int], batch: int) -> list[list[int]]:
    """Yield lengths of prompts, a batch at a time; the last one begins anew with the first lengths."""
    return [[lengths[index % len(lengths)] for index in range(start, start + batch)] for start in range(0, len(lengths), batch)]


def share(kind: str, target: str, batch: int, lengths: Sequence[int]) -> tuple[float, int]:
    """Return the share of tokens that are the library's, and how many tokens there were."""
    model, rng = model_of(kind), np.random.default_rng(len(kind) + batch)
    same: list[bool] = []
    with ttc.generator(model, batch=batch, max_length=max(lengths) + GENERATED, target=target) as generator:
        for group in batches_of(lengths, batch):
            prompts = [rng.integers(0, VOCABULARY, length).tolist() for length in group]
            generator.reset()
            for prompt, found in zip(prompts, generator.generate(prompts, GENERATED, stop=()), strict=True):
                same += [ours == theirs for ours, theirs in zip(found, library_tokens(model, prompt), strict=True)]
    return float(np.mean(same)), len(same)


def numbers(text: str) -> list[int]:
    """Return numbers with commas between them."""
    return [int(word) for word in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each model, target and batch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--targets", default="host,n150")
    parser.add_argument("--batches", type=numbers, default=[1, 4])
    parser.add_argument("--lengths", type=numbers, default=[*LENGTHS])
    options = parser.parse_args(arguments)
    status = 0
    for target in options.targets.split(","):
        bar = 1.0 if target == "host" else DEVICE_BAR
        for kind in options.kinds.split(","):
            for batch in options.batches:
                found, count = share(kind, target, batch, options.lengths)
                print(f"{target:6} {kind:8} batch {batch}: {found:7.2%} of {count} tokens{'' if found >= bar else ', too few'}", flush=True)
                status = max(status, int(found < bar))
    return status


if __name__ == "__main__":
    sys.exit(main())
