"""Small networks of thirteen architectures that `check_training.py` trains, with random rows; most are of transformers.

Importing this loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from training_networks import CLASSES, convolution, perceptron

WORDS, TOKENS, IMAGE = 40, 12, 64
"""Words of a vocabulary, tokens of a row, height and width of images."""


@dataclass(frozen=True)
class Small:
    """A network, in training mode and without dropout, and the shapes of what it is trained on.

    Args:
        network: gives scores, whose second dimension is that of classes.
        row: of an input, whose numbers are random; None: it is a row of words.
        target: shape of a row of targets, which are classes.
        classes: how many there are.
    """

    network: nn.Module
    row: tuple[int, ...] | None
    target: tuple[int, ...] = ()
    classes: int = CLASSES

    @property
    def has_batch_norms(self) -> bool:
        """Whether rows of a batch depend on each other."""
        return any(isinstance(module, nn.BatchNorm2d) for module in self.network.modules())

    def rows(self, count: int) -> tuple[Tensor, Tensor]:
        """Return that many random rows and their targets."""
        x = torch.randint(WORDS, (count, TOKENS)) if self.row is None else torch.randn(count, *self.row)
        return x, torch.randint(self.classes, (count, *self.target))


class Scores(nn.Module):
    """A model of transformers that gives the scores alone, those of words with the words in the second dimension."""

    def __init__(self, model: nn.Module, *, words: bool = False, decodes: bool = False) -> None:
        super().__init__()
        self.model, self.words, self.decodes = model, words, decodes

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[rows, words, tokens] of x[rows, tokens], or scores[rows, classes] of images."""
        found = self.model(x, decoder_input_ids=x) if self.decodes else self.model(x)
        return found.logits.transpose(1, 2) if self.words else found.logits


class Net(nn.Module):
    """A U-Net of two levels with batch norms: x[rows, 3, h, w] -> scores[rows, classes, h, w]."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()

        def twice(channels: int, made: int) -> nn.Module:
            return nn.Sequential(*convolution(channels, made, 3), nn.ReLU(), *convolution(made, made, 3), nn.ReLU())

        self.first, self.second, self.bottom = twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)
        self.ups = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.back, self.last = twice(4 * width, 2 * width), twice(2 * width, width)
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(width, CLASSES, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[rows, classes, h, w] of x[rows, 3, h, w]."""
        first = self.first(x)
        second = self.second(self.pool(first))
        y = self.back(torch.cat([second, self.ups[0](self.bottom(self.pool(second)))], 1))
        return self.head(self.last(torch.cat([first, self.ups[1](y)], 1)))


class Inverted(nn.Module):
    """The block of MobileNetV2: a wide 1x1 convolution, one of 3x3 in each channel, and a narrow 1x1 one; and the images themselves."""

    def __init__(self, channels: int, made: int, stride: int, times: int) -> None:
        super().__init__()
        wide = channels * times
        grouped = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
        first = (*convolution(channels, wide, 1), nn.ReLU6())
        self.layers = nn.Sequential(*first, grouped, nn.BatchNorm2d(wide), nn.ReLU6(), *convolution(wide, made, 1))
        self.is_residual = stride == 1 and channels == made

    def forward(self, x: Tensor) -> Tensor:
        """Return [rows, made, h / stride, w / stride] of x[rows, channels, h, w]."""
        return x + self.layers(x) if self.is_residual else self.layers(x)


def mobilenetv2() -> nn.Module:
    """Return MobileNetV2 with fewer and narrower blocks: images of 3x64x64."""
    sizes = ((8, 8, 1, 1), (8, 12, 2, 6), (12, 12, 1, 6), (12, 16, 2, 6), (16, 16, 1, 6), (16, 24, 2, 6), (24, 24, 1, 6))
    blocks = [Inverted(*size) for size in sizes]
    ends = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES))
    return nn.Sequential(*convolution(3, 8, 3, 2), nn.ReLU6(), *blocks, *convolution(24, 64, 1), nn.ReLU6(), *ends)


class Recurrent(nn.Module):
    """Words through two layers of LSTM: x[rows, tokens] -> scores[rows, words, tokens]."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, width), nn.Linear(width, WORDS)
        self.cells = nn.LSTM(width, width, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[rows, words, tokens] of x[rows, tokens], integers."""
        return self.head(self.cells(self.words(x))[0]).transpose(1, 2)


def plain_images() -> nn.Module:
    """Make a network of three convolutions of 3x3 with batch norm and max pools and two linear layers, for images of 3x64x64."""
    stages = [layer for i, m in ((3, 8), (8, 16), (16, 16)) for layer in (*convolution(i, m, 3), nn.ReLU(), nn.MaxPool2d(2))]
    return nn.Sequential(*stages, nn.Flatten(), nn.Linear(16 * 64, 32), nn.ReLU(), nn.Linear(32, CLASSES))


def transformers_model(kind: str, config: str, **sizes: Any) -> nn.Module:
    """Make a model of transformers with random weights, and no dropout of any kind."""
    import transformers

    known = getattr(transformers, config)(**sizes)
    for name, value in known.to_dict().items():
        if "drop" in name and isinstance(value, float):
            setattr(known, name, 0.0)
    return getattr(transformers, kind)(known)


def _images(kind: str, **sizes: Any) -> Small:
    model = transformers_model(f"{kind}ForImageClassification", f"{kind}Config", num_labels=CLASSES, **sizes)
    return Small(Scores(model), (3, IMAGE, IMAGE))


def _words(kind: str, config: str, **sizes: Any) -> Small:
    model = transformers_model(kind, config, vocab_size=WORDS, **sizes)
    return Small(Scores(model, words=True, decodes=config == "T5Config"), None, (TOKENS,), WORDS)


_ATTENTION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_STAGES = {"hidden_sizes": [16, 24, 32, 40]}
NETWORKS: dict[str, Callable[[], Small]] = {
    "mlp": lambda: Small(perceptron((64, 48, 48, CLASSES)), (64,)),
    "cnn": lambda: Small(plain_images(), (3, IMAGE, IMAGE)),
    "resnet18": lambda: _images("ResNet", embedding_size=16, depths=[2, 2, 2, 2], layer_type="basic", **_STAGES),
    "mobilenetv2": lambda: Small(mobilenetv2(), (3, IMAGE, IMAGE)),
    "unet": lambda: Small(Net(), (3, 32, 32), (32, 32)),
    "convnext": lambda: _images("ConvNext", depths=[1, 1, 2, 1], **_STAGES),
    "swin": lambda: _images("Swin", image_size=IMAGE, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4),
    "vit": lambda: _images("ViT", image_size=IMAGE, patch_size=16, **_ATTENTION),
    "bert": lambda: _words("BertForMaskedLM", "BertConfig", max_position_embeddings=TOKENS, **_ATTENTION),
    "t5": lambda: _words("T5ForConditionalGeneration", "T5Config", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False),
    "gpt2": lambda: _words("GPT2LMHeadModel", "GPT2Config", n_positions=TOKENS, n_embd=32, n_layer=2, n_head=4, use_cache=False),
    "llama": lambda: _words("LlamaForCausalLM", "LlamaConfig", num_key_value_heads=2, use_cache=False, **_ATTENTION),
    "lstm": lambda: Small(Recurrent(), None, (TOKENS,), WORDS),
}


DISTINCT = ("t5",)
"""Networks whose vectors begin at numbers of their own: PyTorch's older ONNX exporter makes one parameter of those that are equal."""


def small(name: str) -> Small:
    """Make the network of that name, the same in every process."""
    torch.manual_seed(0)
    found = NETWORKS[name]()
    with torch.no_grad():
        for vector in (p for p in found.network.parameters() if name in DISTINCT and p.dim() == 1):
            vector.add_(torch.randn_like(vector) / 100)
    found.network.train()
    return found


def batches(given: Small, count: int, rows: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Return batches of random rows, the same in every process."""
    torch.manual_seed(3)
    for _ in range(count):
        yield given.rows(rows)
