"""Small networks of 24 architectures, for exports: random weights, sizes that end within tiles.

Tests export twelve of them, `make conformance-export` (`tools/check_exports.py`) all.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

MODELS = Path(__file__).parents[2] / "data" / "models" / "models.py"


@cache
def models() -> ModuleType:
    """The module that holds the eight networks."""
    spec = importlib.util.spec_from_file_location("export_models", MODELS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Picked(nn.Module):
    """A model whose one output is an attribute of what it returns."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], output: str) -> None:
        super().__init__()
        self.model, self.names, self.output = model, names, output

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return getattr(self.model(**dict(zip(self.names, inputs, strict=True))), self.output)


def _tokens(count: int = 21) -> torch.Tensor:
    return torch.randint(2, 90, (1, count))


def _pixels(size: int = 64) -> torch.Tensor:
    return torch.randn(1, 3, size, size)


def _text(kind: str, tokens: int = 21, output: str = "last_hidden_state", **config: Any) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A model of transformers over tokens; kind: `Bert`."""
    import transformers

    settings = getattr(transformers, f"{kind}Config")(**config)
    model = getattr(transformers, f"{kind}Model")(settings)
    return Picked(model, ("input_ids",), output), (_tokens(tokens),)


def _vision(kind: str, size: int = 64, output: str = "last_hidden_state", **config: Any) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import transformers

    settings = getattr(transformers, f"{kind}Config")(**config)
    model = getattr(transformers, f"{kind}Model")(settings)
    return Picked(model, ("pixel_values",), output), (_pixels(size),)


SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 96, "vocab_size": 99}


def _bert() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import transformers

    model = transformers.BertModel(transformers.BertConfig(**SMALL, max_position_embeddings=40))
    mask = torch.ones(1, 21, dtype=torch.long)
    mask[0, 17:] = 0
    return Picked(model, ("input_ids", "attention_mask"), "last_hidden_state"), (_tokens(), mask)


def _gpt2() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import transformers

    config = transformers.GPT2Config(n_embd=64, n_layer=2, n_head=2, vocab_size=99, n_positions=40, use_cache=False)
    return Picked(transformers.GPT2LMHeadModel(config), ("input_ids",), "logits"), (_tokens(),)


def _bottlenecks(groups: int, stride: int = 1) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Two blocks of a residual network with grouped convolutions, as ResNeXt and RegNet have them."""
    block = models().BasicBN

    class Block(nn.Module):
        def __init__(self, width: int, step: int) -> None:
            super().__init__()
            self.inner = nn.Sequential(block(width, 32, 1), block(32, 32, 3, step, g=groups), block(32, 64, 1, act=None))
            self.short = block(width, 64, 1, step, act=None)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.inner(x) + self.short(x))

    stem = nn.Sequential(block(3, 16, 3, 2), nn.MaxPool2d(3, 2, 1))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 11))
    return models()._randbn(nn.Sequential(stem, Block(16, 1), Block(64, 2), head)), (_pixels(48),)


class Gate(nn.Module):
    """Squeeze and excitation: channels weighted by their means."""

    def __init__(self, width: int, gate: Callable[[], nn.Module], inner: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.weights = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, 8, 1), inner(), nn.Conv2d(8, width, 1), gate())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weights(x)


def _mobile(
    act: Callable[[], nn.Module], gate: Callable[[], nn.Module], inner: Callable[[], nn.Module]
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Inverted residuals with gates, as EfficientNet and MobileNetV3 have them."""
    plain = models().BasicBN

    class Block(nn.Module):
        def __init__(self, width: int, out: int, step: int) -> None:
            super().__init__()
            wide = 3 * width
            self.inner = nn.Sequential(
                *(plain(width, wide, 1, act=None), act(), plain(wide, wide, 5, step, g=wide, act=None), act(), Gate(wide, gate, inner)),
                plain(wide, out, 1, act=None),
            )
            self.adds = width == out and step == 1

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.inner(x) if self.adds else self.inner(x)

    body = nn.Sequential(plain(3, 16, 3, 2, act=None), act(), Block(16, 24, 2), Block(24, 24, 1))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10))
    return models()._randbn(nn.Sequential(body, head)), (_pixels(40),)


def _t5() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import transformers

    config = transformers.T5Config(d_model=64, d_kv=32, d_ff=96, num_layers=2, num_heads=2, vocab_size=99, use_cache=False)
    return Picked(transformers.T5EncoderModel(config), ("input_ids",), "last_hidden_state"), (_tokens(),)


def _whisper() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    tokens = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"), 0)
    sizes = {"d_model": 64, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 96, "num_mel_bins": 16}
    config = transformers.WhisperConfig(**sizes, **tokens, max_source_positions=30, vocab_size=99)
    return Picked(WhisperEncoder(config), ("input_features",), "last_hidden_state"), (torch.randn(1, 16, 60),)


def _segformer() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return _vision(
        "Segformer",
        depths=[1, 1], hidden_sizes=[16, 32], num_attention_heads=[1, 2], num_encoder_blocks=2, sr_ratios=[2, 1], patch_sizes=[7, 3],
        strides=[4, 2], mlp_ratios=[2, 2],
    )  # fmt: skip


CAUSAL = {**SMALL, "num_key_value_heads": 1, "max_position_embeddings": 64, "use_cache": False, "head_dim": 32}
BUILDERS: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    **{name: lambda name=name: models().build(name) for name in ("cnn", "mlp")},
    "resnet50": lambda: _bottlenecks(1),
    "mobilenetv2": lambda: (models()._randbn(nn.Sequential(models().InvRes(3, 8, 2, 4), models().InvRes(8, 8, 1, 4))), (_pixels(40),)),
    "unet": lambda: (models()._randbn(models().UNetS(8)), (_pixels(32),)),
    "bert": _bert,
    "vit": lambda: _vision("ViT", image_size=64, **{k: v for k, v in SMALL.items() if k != "vocab_size"}),
    "gpt2": _gpt2,
    "convnext": lambda: _vision("ConvNext", hidden_sizes=[16, 32], depths=[1, 1], num_stages=2),
    "swin": lambda: _vision("Swin", image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[1, 2], window_size=4, size=32),
    "t5": _t5,
    "whisper": _whisper,
    "llama": lambda: _text("Llama", **CAUSAL),
    "mistral": lambda: _text("Mistral", **CAUSAL),
    "qwen2": lambda: _text("Qwen2", **{k: v for k, v in CAUSAL.items() if k != "head_dim"}),
    "distilbert": lambda: _text("DistilBert", dim=64, n_layers=2, n_heads=2, hidden_dim=96, vocab_size=99, max_position_embeddings=40),
    "roberta": lambda: _text("Roberta", **SMALL, max_position_embeddings=40),
    "deit": lambda: _vision("DeiT", image_size=64, **{k: v for k, v in SMALL.items() if k != "vocab_size"}),
    "regnet": lambda: _bottlenecks(4),
    "resnext": lambda: _bottlenecks(8),
    "efficientnet": lambda: _mobile(nn.SiLU, nn.Sigmoid, nn.SiLU),
    "segformer": _segformer,
    "clip": lambda: _vision("CLIPVision", image_size=64, patch_size=16, **{k: v for k, v in SMALL.items() if k != "vocab_size"}),
    "mobilenetv3": lambda: _mobile(nn.Hardswish, nn.Hardsigmoid, nn.ReLU),
}
WIDE = {**SMALL, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8}
TENSOR: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    "llama-heads": lambda: _text("Llama", **{**CAUSAL, **WIDE, "num_key_value_heads": 8}),
    "mistral-heads": lambda: _text("Mistral", **{**CAUSAL, **WIDE, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 16}),
    "llama-rows": lambda: _text("Llama", 256, **{**CAUSAL, **WIDE, "num_key_value_heads": 8, "max_position_embeddings": 256}),
    "bert-rows": lambda: _text("Bert", 256, **WIDE, max_position_embeddings=256),
    "bert-heads": lambda: _text("Bert", **WIDE, max_position_embeddings=40),
    "gpt2-heads": lambda: _text("GPT2", n_embd=256, n_layer=2, n_head=8, vocab_size=96, n_positions=40, use_cache=False),
    "vit-heads": lambda: _vision("ViT", image_size=64, **{k: v for k, v in WIDE.items() if k != "vocab_size"}),
}
"""Transformers whose heads eight chips can divide."""
EIGHT = ("cnn", "mlp", "resnet50", "mobilenetv2", "unet", "bert", "vit", "gpt2")
WHOLE: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    f"{name}-whole": lambda name=name: models().build(name) for name in EIGHT
}
"""The eight at the sizes that they have in the field: a minute each, so that conformance runs alone export them."""


TIMM = "timm:"
"""What names of networks of the package timm begin with: `timm:regnety_002`, or `timm:regnety_002:64` for images of 64 x 64 pixels."""


def _of_timm(name: str, size: str = "") -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Return a network of timm, if that is installed, with random weights and batch norms; size: of its images, else its own."""
    timm = importlib.import_module("timm")
    try:
        model = timm.create_model(name, num_classes=10, **({"img_size": int(size)} if size else {}))
    except TypeError:  # networks without places take images of any size
        model = timm.create_model(name, num_classes=10)
    channels, height, width = model.pretrained_cfg["input_size"]
    side = (int(size), int(size)) if size else (height, width)
    return models()._randbn(model), (torch.randn(1, channels, *side),)


def built(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Return a new network by name, with inputs of one row."""
    if name.startswith(TIMM):
        return _of_timm(*name.removeprefix(TIMM).split(":"))
    return (BUILDERS | TENSOR | WHOLE)[name]()


@cache
def network(name: str, batch: int = 1) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A network in evaluation mode, and inputs, the same every time; further rows of a batch are the first one, rolled."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(sum(name.encode()))
        model, inputs = built(name)
    return model.eval(), tuple(torch.cat([value.roll(row, -1) for row in range(batch)]) for value in inputs)


def saved(name: str, folder: Path, batch: int = 1) -> Path:
    """The network as a file of torch.export."""
    model, inputs = network(name, batch)
    path = folder / f"{name.replace(':', '_')}.pt2"
    with torch.no_grad():
        torch.export.save(torch.export.export(model, inputs), path)
    return path


def causal(kind: str, heads: int = 4) -> Any:
    """A small model that generates; kind: `gpt2`, whose keys have as many heads as queries, or `llama`, which has half as many of them."""
    import transformers

    with torch.random.fork_rng():
        torch.manual_seed(sum(kind.encode()))
        if kind == "gpt2":
            settings = transformers.GPT2Config(
                vocab_size=96, n_positions=128, n_embd=32 * heads, n_layer=2, n_head=heads, bos_token_id=1, eos_token_id=1
            )
            return transformers.GPT2LMHeadModel(settings).eval()
        sizes = {"hidden_size": 16 * heads, "intermediate_size": 96, "num_attention_heads": heads, "num_key_value_heads": heads // 2}
        settings = transformers.LlamaConfig(vocab_size=96, max_position_embeddings=128, num_hidden_layers=2, **sizes)
        return transformers.LlamaForCausalLM(settings).eval()


GENERATORS = ("gpt2-tokens", "llama-tokens")
"""Archives that generate, for conformance runs."""


def generator(name: str, folder: Path, batch: int = 1) -> Path:
    """The archive of a generator; 16 heads, so that eight chips divide those of keys, too."""
    import ttc

    path = folder / f"{name}.tti"
    with ttc.generator(causal(name.removesuffix("-tokens"), 16), batch=batch, max_length=63, chunks=(16,), target="host") as made:
        made.save(path)
    return path
