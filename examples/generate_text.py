"""Train a small GPT-2 on a few lines, compile it, and let it go on with one of them.

    python examples/generate_text.py

It needs transformers and tokenizers (`pip install transformers tokenizers`).  The last step is a command, which needs neither torch nor
transformers.
"""

from __future__ import annotations

import subprocess
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel

import ttc

TEXT = """the tiles of a matrix are small matrices
the rows of a tile lie in faces
the cores of a chip lie in a grid
"""
STEPS = 200
"""Updates after which every letter of the text has a probability above 0.9, on any processor."""


def bytes_tokenizer() -> Tokenizer:
    """A token for each byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    found = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    return found


def trained(tokens: torch.Tensor, vocabulary: int) -> GPT2LMHeadModel:
    """A small network that knows the text by heart."""
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=vocabulary, n_positions=160, n_embd=96, n_layer=2, n_head=4, bos_token_id=None, eos_token_id=None)
    config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(STEPS):
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def main() -> None:
    """Train, write the archive and the tokenizer, generate from Python, then with a command."""
    tokenizer = bytes_tokenizer()
    tokenizer.save("tokenizer.json")
    tokens = torch.tensor([tokenizer.encode(TEXT).ids])
    model = trained(tokens, tokenizer.get_vocab_size())
    with ttc.generator(model, max_length=128, target="host") as generator:
        generator.save("gpt.tti")
        (found,) = generator.generate(tokenizer.encode("the tiles").ids, stop=tokenizer.encode("\n").ids)
        print("the tiles" + tokenizer.decode(found).rstrip())
    prompt = TEXT.partition(" of a tile")[0]
    command = ["generate", "gpt.tti", "--tokenizer", "tokenizer.json", "--prompt", prompt, "--stop", "\n", "-q"]
    subprocess.run([sys.executable, "-m", "ttc", *command], check=True)


if __name__ == "__main__":
    main()
