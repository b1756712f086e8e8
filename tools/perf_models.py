"""Networks of published sizes as ONNX files, for the tools that score the performance model.

    python tools/perf_models.py FOLDER NAME BATCH

`resnet50`, `mobilenetv2` and `vit` are those of tests/data/models/models.py; `bert-large` is 24 encoders, 1024 wide, on 384 tokens with its
embeddings; `encoders-N` is N of these encoders alone, from hidden states and a mask; `llama` is 8 decoders, 1024 wide, on 128 tokens.
Weights are random.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "data" / "models" / "models.py"
TOKENS, WIDTH, HEADS, INNER = 384, 1024, 16, 4096


def exported(folder: Path, name: str, batch: int) -> Path:
    """Return the ONNX file of a network at a batch, exported once, by a process of its own."""
    path = folder / f"{name}-{batch}.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, __file__, str(folder), name, str(batch)], check=True, capture_output=True)
    return path


def build(name: str, batch: int) -> tuple[Any, tuple[Any, ...]]:
    """Return a network and example inputs."""
    import torch

    if name.startswith("encoders-"):
        return encoders(int(name.removeprefix("encoders-"))), (torch.randn(batch, TOKENS, WIDTH), torch.zeros(batch, 1, 1, TOKENS))
    if name == "bert-large":
        model, inputs = bert_large()
    elif name == "llama":
        model, inputs = llama()
    else:
        spec = importlib.util.spec_from_file_location("models", MODELS)
        if spec is None or spec.loader is None:
            raise SystemExit(f"cannot load {MODELS}")
        models = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(models)
        model, inputs = models.build(name)
    return model, tuple(x.repeat(batch, *[1] * (x.dim() - 1)) for x in inputs)


def bert_large() -> tuple[Any, tuple[Any, ...]]:
    """BERT-large from tokens to hidden states."""
    import torch
    import transformers

    config = transformers.BertConfig(hidden_size=WIDTH, num_hidden_layers=24, num_attention_heads=HEADS, intermediate_size=INNER)
    bert = transformers.BertModel(config)

    class Hidden(torch.nn.Module):
        """The last hidden states alone."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            """[batch, tokens] -> [batch, tokens, width]."""
            return self.bert(input_ids=tokens, attention_mask=mask).last_hidden_state

    return Hidden().eval(), (torch.randint(0, 30000, (1, TOKENS)), torch.ones(1, TOKENS, dtype=torch.long))


def llama() -> tuple[Any, tuple[Any, ...]]:
    """Decoders with rotary embedding and grouped heads, from tokens to logits."""
    import torch
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=8192, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4
    )
    inner = transformers.LlamaForCausalLM(config)

    class Logits(torch.nn.Module):
        """The logits alone, without a cache."""

        def __init__(self) -> None:
            super().__init__()
            self.llama = inner

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            """[batch, tokens] -> [batch, tokens, vocabulary]."""
            return self.llama(input_ids=tokens, use_cache=False).logits

    return Logits().eval(), (torch.randint(0, 8000, (1, 128)),)


def encoders(count: int) -> Any:
    """BERT-large's encoders alone."""
    import torch
    from torch import nn
    from torch.nn.functional import gelu, scaled_dot_product_attention

    class Encoder(nn.Module):
        """Self attention and two linear layers, each with its sum and norm."""

        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
            self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            """[batch, tokens, width], [batch, 1, 1, tokens] -> [batch, tokens, width]."""
            q, k, v = (layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value))
            attended = scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(-2)
            x = self.norm_1(x + self.out(attended))
            return self.norm_2(x + self.down(gelu(self.up(x))))

    class Encoders(nn.Module):
        """Encoders one after another."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Encoder() for _ in range(count))

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            """[batch, tokens, width], [batch, 1, 1, tokens] -> [batch, tokens, width]."""
            for layer in self.layers:
                x = layer(x, mask)
            return x

    return Encoders().eval()


def main() -> None:
    """Export one network."""
    import torch

    warnings.filterwarnings("ignore")
    folder, name, batch = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.manual_seed(0)
    temporary = folder / f".{name}-{batch}.part.onnx"
    with torch.no_grad():
        model, inputs = build(name, batch)
        torch.onnx.export(model, inputs, temporary, dynamo=True, opset_version=18, external_data=False, verbose=False)
    temporary.rename(folder / f"{name}-{batch}.onnx")


if __name__ == "__main__":
    main()
