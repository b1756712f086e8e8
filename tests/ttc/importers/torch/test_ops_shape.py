"""Shapes, order of dimensions, copies and dtypes of PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402


def test_shapes() -> None:
    functions = {
        "view": lambda x: (x.view(6, -1), x.reshape(-1), x.flatten(1), x.unflatten(2, (2, -1))),
        "order": lambda x: (x.permute(2, 0, 1), x.transpose(0, -1), x.mT, x[0].T, x.movedim(0, 2), x.movedim((0, 1), (2, 0))),
        "ones": lambda x: (x.unsqueeze(1), x[:1].squeeze(), x[:1].squeeze(0), x.squeeze(1), x[:1, :1].squeeze((0, 1))),
        "expand": lambda x: (x[:, :1].expand(2, 3, 4), x[0, 0].expand(5, -1), x[0].expand_as(x), *torch.broadcast_tensors(x[:1], x)),
        "repeat": lambda x: (x.repeat(2, 1, 1, 3), x.tile(2), x.repeat_interleave(2, 1), x.repeat_interleave(3)),
        "join": lambda x: (torch.cat((x, x.int()), 1), torch.stack((x, x + 1), -1), torch.hstack((x, x)), torch.cat((x.new_empty(0), x))),
        "split": lambda x: (*x.split(3, 2), *x.split([1, 2], 1), *x.chunk(2, 2), *x.unbind(1), *torch.tensor_split(x, 3, 2)),
        "turn": lambda x: (x.flip(0, 2), x.roll(1, 2), x.roll((1, -2), (0, 2)), x.roll(5), torch.rot90(x)),
        "dtype": lambda x: (x.double(), x.int(), x.half(), x.bool(), (x * 3).to(torch.uint8), x.to(torch.bfloat16).float()),
        "copy": lambda x: (x.clone(), x.contiguous(), x.detach(), torch.zeros_like(x).copy_(x[0])),
        "bits": lambda x: x.view(torch.int32),
        "grid": lambda x: (*torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"), torch.cartesian_prod(x[0, 0], x[0, 1])),
        "block": lambda x: (torch.block_diag(x[0], x[1]), torch.kron(x[0], x[1])),
    }
    agree(functions, randn(2, 3, 4))


def test_made_from_nothing() -> None:
    functions = {
        "filled": lambda x: (
            torch.full((2, 3), 1.5),
            torch.zeros(3),
            torch.ones(2, dtype=torch.int32),
            torch.full_like(x, 2, dtype=torch.int64),
        ),
        "new": lambda x: (x.new_full((2,), 3), x.new_zeros(2, 2), x.new_ones(1), torch.zeros_like(x), torch.ones_like(x).bool()),
        "ranges": lambda x: (torch.arange(5), torch.arange(1, 2, 0.25), torch.arange(5, -1, -2), torch.arange(3.0)),
        "spaced": lambda x: (
            torch.linspace(-1, 2, 7),
            torch.linspace(0, 10, 4, dtype=torch.int64),
            torch.logspace(0, 2, 3),
            torch.linspace(x[0, 0], 2, 3),
        ),
        "triangles": lambda x: (torch.eye(3), torch.eye(2, 4), x.tril(), x.triu(1), torch.tril_indices(3, 4, 1), torch.triu_indices(3, 3)),
        "scalar": lambda x: torch.scalar_tensor(2.5),
        "margins": lambda x: (F.pad(x, (1, 2)), F.pad(x, (0, 1, 2, 0), value=3.0), F.pad(x, (-1, 1)), F.pad(x[None], (1, 2), "reflect")),
        "margins_of_modes": lambda x: (
            F.pad(x[None], (1, 1), "replicate"),
            F.pad(x[None], (2, 1), "circular"),
            F.pad(x[None], (-1, 1), "circular"),
            F.pad(x[None, None], (1, 1, 1, 1), "reflect"),
        ),
    }
    agree(functions, randn(3, 4))
