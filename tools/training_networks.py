"""Networks that `bench_training.py` trains: each with a batch of random data and its loss, written with PyTorch's own modules.

Importing this loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WORDS, TOKENS, CLASSES = 2048, 128, 10
"""Words of the vocabulary, tokens of a row, classes of images."""


@dataclass(frozen=True)
class Task:
    """A network and a batch for it.

    Args:
        network: in training mode, Float32.
        batch: its arguments.
        target: class of each row of its result.
    """

    network: nn.Module
    batch: Tensor
    target: Tensor

    def loss(self, batch: Tensor, target: Tensor) -> Tensor:
        """Return the mean cross entropy of the network's result, over its last axis."""
        result = self.network(batch)
        return F.cross_entropy(result.flatten(0, -2), target.flatten())


def perceptron(widths: Sequence[int]) -> nn.Module:
    """Return linear layers from width to width, and a ReLU between any two."""
    layers: list[nn.Module] = []
    for width, following in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(width, following), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


# ---- images ---------------------------------------------------------------------------------------------------------------------


def convolution(channels: int, made: int, size: int, stride: int = 1) -> nn.Sequential:
    """Return a convolution without bias that keeps the size of images but for its stride, and its batch norm."""
    return nn.Sequential(nn.Conv2d(channels, made, size, stride, size // 2, bias=False), nn.BatchNorm2d(made))


def plain_images() -> nn.Module:
    """Return three convolutions of 3x3 with batch norm and max pools, then two linear layers: images of 3x32x32."""
    stages = [
        layer
        for channels, made in ((3, 32), (32, 64), (64, 128))
        for layer in (*convolution(channels, made, 3), nn.ReLU(), nn.MaxPool2d(2))
    ]
    return nn.Sequential(*stages, nn.Flatten(), nn.Linear(128 * 16, 128), nn.ReLU(), nn.Linear(128, CLASSES))


class Regular(nn.Module):
    """The block of RegNet-Y: 1x1, grouped 3x3 and 1x1 convolutions with weights of channels between, and the images themselves."""

    def __init__(self, channels: int, made: int, stride: int, depth: int = 16) -> None:
        super().__init__()
        self.first, self.last = convolution(channels, made, 1), convolution(made, made, 1)
        self.grouped = nn.Sequential(nn.Conv2d(made, made, 3, stride, 1, groups=made // depth, bias=False), nn.BatchNorm2d(made))
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(made, made // 4, 1), nn.ReLU(), nn.Conv2d(made // 4, made, 1))
        same = stride == 1 and channels == made
        self.shortcut = nn.Identity() if same else convolution(channels, made, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return [n, made, h / stride, w / stride] of x[n, channels, h, w]."""
        y = F.relu(self.grouped(F.relu(self.first(x))))
        return F.relu(self.last(y * self.squeeze(y).sigmoid()) + self.shortcut(x))


def regnet() -> nn.Module:
    """Return eight blocks of RegNet-Y with groups of 16 channels, ten classes."""
    stages = [block for c, m in ((32, 48), (48, 112), (112, 256), (256, 448)) for block in (Regular(c, m, 2), Regular(m, m, 1))]
    return nn.Sequential(*convolution(3, 32, 3, 2), nn.ReLU(), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(448, CLASSES))


class Separable(nn.Module):
    """The block of ConvNeXt: a 7x7 convolution of each channel, a norm of the channels and two linear layers, added to the images."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.spatial = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.mixed = nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels))

    def forward(self, x: Tensor) -> Tensor:
        """Return [n, channels, h, w] of an x of that shape."""
        return x + self.mixed(self.spatial(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def convnext() -> nn.Module:
    """Return six blocks of ConvNeXt with 64 and 128 channels, ten classes."""
    stem, halved = nn.Conv2d(3, 64, 4, 4), nn.Conv2d(64, 128, 2, 2)
    stages = (stem, *(Separable(64) for _ in range(3)), halved, *(Separable(128) for _ in range(3)))
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, CLASSES))


class Segmentation(nn.Module):
    """Two convolutions that halve images and two transposed ones that double them: a class for each pixel."""

    def __init__(self) -> None:
        super().__init__()
        down = (*convolution(3, 32, 3, 2), nn.ReLU(), *convolution(32, 64, 3, 2), nn.ReLU(), *convolution(64, 64, 3), nn.ReLU())
        up = (nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, CLASSES, 4, 2, 1))
        self.layers = nn.Sequential(*down, *up)

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[n, h, w, classes] of x[n, 3, h, w]."""
        return self.layers(x).permute(0, 2, 3, 1)


class Residual(nn.Module):
    """The basic block of ResNet: two convolutions of 3x3, and the images themselves, or a convolution of 1x1 of them."""

    def __init__(self, channels: int, made: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = convolution(channels, made, 3, stride), convolution(made, made, 3)
        same = stride == 1 and channels == made
        self.shortcut = nn.Identity() if same else convolution(channels, made, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return [n, made, h / stride, w / stride] of x[n, channels, h, w]."""
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


def resnet18() -> nn.Module:
    """Return ResNet-18 with ten classes."""
    stages = [
        block
        for channels, made, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
        for block in (Residual(channels, made, stride), Residual(made, made, 1))
    ]
    stem = (*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    return nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES))


# ---- transformers ---------------------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    """Attention of a sequence to itself, with queries, keys and values of one product."""

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.together, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the shape of x[rows, tokens, width]."""
        rows, tokens, width = x.shape
        parts = self.together(x).view(rows, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(rows, tokens, width))


class Layer(nn.Module):
    """A layer of a transformer with GELU; norms before attention and products (ViT, GPT-2), or after the sums (BERT)."""

    def __init__(self, width: int, heads: int, *, causal: bool = False, before: bool = True) -> None:
        super().__init__()
        self.before = before
        self.attention = Attention(width, heads, causal=causal)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.products = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the shape of x[rows, tokens, width]."""
        first, second = self.norms
        if self.before:
            x = x + self.attention(first(x))
            return x + self.products(second(x))
        x = first(x + self.attention(x))
        return second(x + self.products(x))


class Vision(nn.Module):
    """ViT of 6 layers at width 192: images of 3x112x112 in patches of 8, a class token, learned positions."""

    def __init__(self, width: int = 192, layers: int = 6) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 197, width) * 0.02)
        self.layers = nn.Sequential(*[Layer(width, 3) for _ in range(layers)], nn.LayerNorm(width))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Return [rows, classes] of x[rows, 3, 112, 112]."""
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(len(x), -1, -1), tokens], 1) + self.positions
        return self.head(self.layers(tokens)[:, 0])


class Language(nn.Module):
    """Words and learned positions, layers, a norm, and scores of words by the embedding's own weights (BERT and GPT-2)."""

    def __init__(self, *, causal: bool, width: int = 256, layers: int = 4) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, width), nn.Embedding(TOKENS, width)
        self.layers = nn.Sequential(*[Layer(width, 4, causal=causal, before=causal) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        for table in (self.words, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[rows, tokens, words] of x[rows, tokens], integers."""
        tokens = self.words(x) + self.positions(torch.arange(x.shape[1]))
        return F.linear(self.norm(self.layers(tokens)), self.words.weight)


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """Return x[rows, heads, tokens, depth] with pairs of its last axis turned by rotary positions; angles: [tokens, depth]."""
    one, other = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-other, one], -1) * angles.sin()


class LlamaLayer(nn.Module):
    """A layer of Llama: RMS norms, rotary positions, keys and values shared by two heads each, a gated SiLU."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.norms = nn.ModuleList([nn.RMSNorm(width), nn.RMSNorm(width)])
        self.q, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(width, width // 2, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 688, bias=False) for _ in range(2))
        self.down = nn.Linear(688, width, bias=False)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        """Return a tensor of the shape of x[rows, tokens, width]; angles: [tokens, depth]."""
        rows, tokens, width = x.shape
        normed = self.norms[0](x)
        q, k, v = (part(normed).view(rows, tokens, -1, self.depth).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = turned(q, angles), turned(k, angles)
        k, v = (part.repeat_interleave(2, 1) for part in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, tokens, width))
        normed = self.norms[1](x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    """Llama of 4 layers at width 256."""

    def __init__(self, width: int = 256, layers: int = 4, heads: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.layers = nn.ModuleList([LlamaLayer(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, WORDS, bias=False)
        nn.init.normal_(self.words.weight, std=0.02)
        frequencies = 10000.0 ** -(torch.arange(0, width // heads, 2) / (width // heads))
        self.register_buffer("angles", (torch.arange(TOKENS)[:, None] * frequencies).repeat(1, 2))

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[rows, tokens, words] of x[rows, tokens], integers."""
        tokens = self.words(x)
        for layer in self.layers:
            tokens = layer(tokens, self.angles)
        return self.head(self.norm(tokens))


class Recurrent(nn.Module):
    """Words through two layers of LSTM of width 256."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, width), nn.Linear(width, WORDS)
        self.cells = nn.LSTM(width, width, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[rows, tokens, words] of x[rows, tokens], integers."""
        return self.head(self.cells(self.words(x))[0])


class Distilled(nn.Module):
    """DistilBERT of transformers with three layers of width 256 and no dropout: scores of words."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        from transformers import DistilBertConfig, DistilBertForMaskedLM

        config = DistilBertConfig(vocab_size=WORDS, max_position_embeddings=TOKENS, dim=width, hidden_dim=4 * width, n_layers=3, n_heads=4)
        config.dropout = config.attention_dropout = 0.0
        self.network = DistilBertForMaskedLM(config)

    def forward(self, x: Tensor) -> Tensor:
        """Return scores[rows, tokens, words] of x[rows, tokens], integers."""
        return self.network(x).logits


# ---- by name --------------------------------------------------------------------------------------------------------------------


def classified(network: nn.Module, *shape: int) -> Task:
    """Return rows of numbers of this shape, and a class for each."""
    return Task(network, torch.randn(shape), torch.randint(CLASSES, shape[:1]))


def next_words(network: nn.Module, rows: int) -> Task:
    """Return rows of TOKENS words, and a word for each place."""
    words = torch.randint(WORDS, (rows, TOKENS + 1))
    return Task(network, words[:, :-1].contiguous(), words[:, 1:].contiguous())


NETWORKS: dict[str, Callable[[], Task]] = {
    "mlp": lambda: classified(perceptron((784, 512, 512, CLASSES)), 64, 784),
    "tiny": lambda: classified(perceptron((64, 64, 64, CLASSES)), 32, 64),
    "cnn": lambda: classified(plain_images(), 32, 3, 32, 32),
    "resnet18": lambda: classified(resnet18(), 8, 3, 112, 112),
    "vit": lambda: classified(Vision(), 8, 3, 112, 112),
    "bert": lambda: next_words(Language(causal=False), 8),
    "gpt2": lambda: next_words(Language(causal=True), 8),
    "llama": lambda: next_words(Llama(), 8),
    "distilbert": lambda: next_words(Distilled(), 8),
    "regnet": lambda: classified(regnet(), 8, 3, 112, 112),
    "segmentation": lambda: Task(Segmentation(), torch.randn(8, 3, 64, 64), torch.randint(CLASSES, (8, 64, 64))),
    "lstm": lambda: next_words(Recurrent(), 8),
    "convnext": lambda: classified(convnext(), 8, 3, 112, 112),
}


def task(name: str) -> Task:
    """Return the task of that name, the same in every process."""
    torch.manual_seed(0)
    return NETWORKS[name]()
