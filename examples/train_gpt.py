"""Train a small GPT from PyTorch on the characters of a text, and let it go on writing.

    python examples/train_gpt.py

`ttc.training` takes the module, a loss and an optimizer of PyTorch, and a scheduler that PyTorch steps.  The text is the source of a module
of Python's library.  At the end the weights are pulled into the module, which writes in PyTorch.
"""

from __future__ import annotations

import inspect
import textwrap

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ttc

CONTEXT, WIDTH, HEADS, LAYERS, ROWS, UPDATES = 32, 64, 4, 2, 32, 300
"""Characters that the model sees, its width, heads and layers; sequences of an update; updates."""


class Layer(nn.Module):
    """x[rows, characters, WIDTH] -> the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mixed, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        rows, count, _ = x.shape
        query, key, value = self.mixed(self.norm1(x)).view(rows, count, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(found.transpose(1, 2).reshape(rows, count, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """characters[rows, CONTEXT] -> scores[rows, characters known, CONTEXT] of the next ones."""

    def __init__(self, known: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(known, WIDTH)
        self.positions = nn.Parameter(torch.zeros(CONTEXT, WIDTH))
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, known)

    def forward(self, characters: Tensor) -> Tensor:
        x = self.embedding(characters) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.scores(self.norm(x)).transpose(1, 2)


def main() -> None:
    """Train, print the losses and how many characters are foretold rightly, and write."""
    torch.manual_seed(0)
    text = inspect.getsource(textwrap)
    letters = sorted(set(text))
    encoded = torch.tensor([letters.index(letter) for letter in text])
    model = GPT(len(letters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=UPDATES, cycle_momentum=False)
    with ttc.training(model, loss=nn.CrossEntropyLoss(), optimizer=optimizer, target="host", output="last") as executor:
        for update in range(UPDATES):
            starts = torch.randint(len(encoded) - CONTEXT - 1, (ROWS,)).tolist()
            windows = torch.stack([encoded[start : start + CONTEXT + 1] for start in starts])
            before, after = windows[:, :-1].contiguous(), windows[:, 1:].contiguous()
            scores, loss = executor(before, after)
            scheduler.step()
            if update % 50 == 0 or update == UPDATES - 1:
                right = (scores.argmax(dim=1) == after).float().mean()
                print(f"update {update}: loss {loss:.3f}, foretold {right:.0%}")
        executor.pull_weights()
    written = encoded[:CONTEXT]
    with torch.no_grad():
        for _ in range(80):
            written = torch.cat([written, model(written[None, -CONTEXT:])[0, :, -1].argmax()[None]])
    print("".join(letters[index] for index in written.tolist()))


if __name__ == "__main__":
    main()
