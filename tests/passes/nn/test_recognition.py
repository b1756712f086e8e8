"""Patterns found in networks of two layers, exported by PyTorch: a remark each, and no transpose left inside a layer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ttc.compiler.driver import compile_path
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Remark, Watcher

torch: Any = pytest.importorskip("torch", reason="networks are exported by PyTorch")
transformers: Any = pytest.importorskip("transformers", reason="networks are those of transformers")

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
TEXT = {**SIZES, "vocab_size": 50, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


class First(torch.nn.Module):
    """A network that takes tensors by position and gives its first result."""

    def __init__(self, network: Any, *names: str, **fixed: Any) -> None:
        super().__init__()
        self.network, self.names, self.fixed = network.eval(), names, fixed

    def forward(self, *tensors: Any) -> Any:
        return self.network(**dict(zip(self.names, tensors, strict=True)), **self.fixed)[0]


def ids() -> Any:
    return torch.arange(16).reshape(1, 16)


def bert() -> tuple[First, tuple[Any, ...]]:
    network = transformers.BertModel(transformers.BertConfig(**TEXT), add_pooling_layer=False)
    return First(network, "input_ids", "attention_mask"), (ids(), torch.ones(1, 16, dtype=torch.long))


def gpt2() -> tuple[First, tuple[Any, ...]]:
    config = transformers.GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=32, vocab_size=50, bos_token_id=1, eos_token_id=2)
    return First(transformers.GPT2Model(config), "input_ids", use_cache=False), (ids(),)


def vit() -> tuple[First, tuple[Any, ...]]:
    config = transformers.ViTConfig(**SIZES, image_size=32, patch_size=8)
    return First(transformers.ViTModel(config, add_pooling_layer=False), "pixel_values"), (torch.zeros(1, 3, 32, 32),)


def llama() -> tuple[First, tuple[Any, ...]]:
    config = transformers.LlamaConfig(**TEXT, num_key_value_heads=2, max_position_embeddings=64)
    return First(transformers.LlamaModel(config), "input_ids", use_cache=False), (ids(),)


def gptj() -> tuple[First, tuple[Any, ...]]:
    config = transformers.GPTJConfig(
        n_embd=64, n_layer=2, n_head=4, n_positions=32, rotary_dim=8, vocab_size=50, bos_token_id=1, eos_token_id=2
    )
    return First(transformers.GPTJModel(config), "input_ids", use_cache=False), (ids(),)


def t5() -> tuple[First, tuple[Any, ...]]:
    config = transformers.T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=50, attn_implementation="eager")
    return First(transformers.T5EncoderModel(config), "input_ids"), (ids(),)


class Found(Watcher):
    """Counts the remarks of recognized patterns, by pass."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def remark(self, remark: Remark) -> None:
        if remark.kind == "applied" and remark.pass_name in PATTERNS:
            self.counts[remark.pass_name] += 1


PATTERNS = {"recognize-attention", "group-heads", "recognize-rms-norm", "recognize-rotary", "recognize-swish", "recognize-gelu"}
CASES: dict[Any, tuple[dict[str, int], dict[str, int]]] = {
    bert: ({"recognize-attention": 2, "recognize-gelu": 2}, {"attention": 2, "layer_norm": 5, "gelu": 2, "transpose": 0}),
    vit: ({"recognize-attention": 2, "recognize-gelu": 2}, {"attention": 2, "layer_norm": 5, "gelu": 2, "transpose": 1}),
    gpt2: ({"recognize-attention": 2, "recognize-gelu": 2}, {"attention": 2, "layer_norm": 5, "gelu_tanh": 2, "transpose": 0}),
    llama: (
        {"recognize-attention": 2, "group-heads": 2, "recognize-rms-norm": 5, "recognize-rotary": 4, "recognize-swish": 2},
        {"attention": 2, "rms_norm": 5, "silu": 2, "broadcast": 0},
    ),
    gptj: ({"recognize-attention": 2, "recognize-rotary": 4, "recognize-gelu": 2}, {"attention": 2, "layer_norm": 3, "gelu_tanh": 2}),
    t5: ({"recognize-attention": 2, "recognize-rms-norm": 5}, {"attention": 2, "rms_norm": 5, "softmax": 0}),
}


def kinds(module: Any) -> Counter[str]:
    """Tile ops by mnemonic; functions of maps and activations count under their own names."""
    counts: Counter[str] = Counter()
    for op in module.walk():
        if op.name.startswith("tile."):
            counts[op.name.removeprefix("tile.")] += 1
            counts.update(value.data for key in ("fn", "activation") if (value := op.properties.get(key)) is not None)
    return counts


@pytest.mark.parametrize("network", CASES, ids=lambda network: network.__name__)
def test_patterns(network: Any, tmp_path: Path) -> None:
    model, examples = network()
    model.eval()
    path, found = tmp_path / "network.onnx", Found()
    torch.onnx.export(model, examples, path, dynamo=True, opset_version=18, verbose=False)
    result = compile_path(path, resolve(CompileOptions, {"target": "n150", "to": "tile"}), [found])
    remarks, ops = CASES[network]
    assert dict(found.counts) == remarks
    counts = kinds(result.unit.module)
    assert {name: counts[name] for name in ops} == ops
