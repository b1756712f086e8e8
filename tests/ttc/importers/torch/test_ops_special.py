"""Images sampled anew, recurrent layers, linear algebra, transforms and special functions of PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402

TURN = [[[0.7, 0.2, 0.1], [-0.3, 0.9, 0.0]]]


def test_resizes() -> None:
    functions = {
        "nearest": lambda x: (
            F.interpolate(x, scale_factor=1.7),
            F.interpolate(x, (3, 11)),
            F.interpolate(x, (5, 9), mode="nearest-exact"),
        ),
        "bilinear": lambda x: F.interpolate(x, (9, 4), mode="bilinear"),
        "bilinear_by_scale": lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=False),
        "bilinear_corners": lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=True),
        "bicubic": lambda x: F.interpolate(x, (9, 12), mode="bicubic"),
        "smaller": lambda x: (
            F.interpolate(x, (3, 3), mode="bilinear", antialias=True),
            F.interpolate(x, (3, 3), mode="bicubic", antialias=True),
        ),
        "linear": lambda x: F.interpolate(x[0], 5, mode="linear"),
        "trilinear": lambda x: F.interpolate(x[:, :, None], (2, 3, 8), mode="trilinear"),
        "shuffle": lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x[..., :4, :], 2), F.channel_shuffle(x, 2)),
        "grid": lambda x: F.grid_sample(
            x, F.affine_grid(torch.tensor([[[0.7, 0.2, 0.1], [-0.3, 0.9, 0.0]]]), (1, 4, 3, 5)), align_corners=False
        ),
        "grid_modes": lambda x: F.grid_sample(x, x[:, :2, :, :].permute(0, 2, 3, 1), "bicubic", "reflection", align_corners=True),
    }
    agree(functions, randn(1, 4, 5, 6), tolerance=2e-5)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: torch.nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
        lambda: torch.nn.GRU(3, 4, bias=False),
        lambda: torch.nn.RNN(3, 4, 2, nonlinearity="relu"),
    ],
)
def test_recurrent_layers(layer: Any) -> None:
    torch.manual_seed(1)
    agree({"layer": layer()}, randn(2, 5, 3))


def test_linear_algebra() -> None:
    functions = {
        "solve": lambda a, x: (
            torch.linalg.solve(a, x),
            torch.linalg.solve(a, x[:, 0]),
            torch.linalg.inv(a),
            torch.linalg.solve(a, x.T, left=False),
        ),
        "cholesky": lambda a, x: (torch.linalg.cholesky(a @ a.T), torch.cholesky_solve(x, torch.linalg.cholesky(a @ a.T))),
        "triangular": lambda a, x: (
            torch.linalg.solve_triangular(a, x, upper=True),
            torch.linalg.solve_triangular(a, x, upper=False, unitriangular=True),
        ),
        "lu": lambda a, x: (*torch.linalg.lu(a), torch.linalg.lu_solve(*torch.linalg.lu_factor(a), x)),
        "det": lambda a, x: (torch.linalg.det(a), *torch.linalg.slogdet(a), torch.logdet(a @ a.T)),
        "qr": lambda a, x: torch.linalg.qr(x),
        "reflections": lambda a, x: (torch.linalg.householder_product(x, x[0]), torch.ormqr(x, x[0], a, transpose=True)),
        "values": lambda a, x: (torch.linalg.svdvals(x), torch.linalg.eigvalsh(a @ a.T), torch.linalg.matrix_norm(x, 2)),
        "pinv": lambda a, x: (torch.linalg.pinv(x), torch.linalg.matrix_rank(x), torch.linalg.cond(x)),
        "power": lambda a, x: (torch.linalg.matrix_power(a, 3), torch.linalg.matrix_exp(a)),
    }
    agree(functions, randn(4, 4) + 3 * torch.eye(4), randn(4, 3), tolerance=1e-4)


def turns() -> Any:
    return torch.polar(torch.ones(4), torch.arange(4.0))


def test_transforms() -> None:
    functions = {
        "real": lambda x: (torch.fft.irfft(torch.fft.rfft(x) * 2), torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho"))),
        "parts": lambda x: (torch.view_as_real(torch.fft.fftn(x)), torch.fft.fft(x).abs(), torch.fft.ifft(x).real, torch.fft.rfft(x).imag),
        "hermitian": lambda x: (torch.fft.hfft(x), torch.fft.irfft(x[0])),
        "rotation": lambda x: torch.view_as_real(
            torch.view_as_complex(x.reshape(3, 4, 2)) * torch.polar(torch.ones(4), torch.arange(4.0))
        ).flatten(1),
        "vocoder": lambda x: _vocoded(torch.tensor_split(x.reshape(1, 2, 12).repeat(1, 5, 1), 2, dim=1)),
        "spectrum_in_parts": lambda x: tuple(part.abs() for part in torch.fft.rfft(x.flatten()).split([6, 7])),
        "spectrogram": lambda x: torch.stft(x.flatten(), 8, window=torch.hann_window(8), return_complex=True).abs(),
        "shift": lambda x: torch.fft.fftshift(x),
    }
    agree(functions, randn(3, 8))


SPECIAL = "lgamma digamma i0 erfinv"
ORDERLY = "i0e i1 i1e ndtr ndtri log_ndtr erfcx entr bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0"
MODIFIED = "modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1"


def test_special_functions() -> None:
    x = torch.tensor([-7.3, -2.5, -0.7, -0.01, 0.0, 0.3, 0.99, 1.0, 2.0, 5.5, 7.9, 8.1, 12.0, 40.0])
    functions = {
        **{name: getattr(torch, name) for name in SPECIAL.split()},
        **{name: getattr(torch.special, name) for name in (*ORDERLY.split(), *MODIFIED.split())},
        "polygamma": lambda x: (torch.polygamma(1, x), torch.polygamma(3, x.abs() + 0.5)),
        "zeta": lambda x: torch.special.zeta(x.abs() + 1.5, x.abs() + 0.1),
        "mvlgamma": lambda x: torch.mvlgamma(x.abs() + 2, 3),
    }
    agree(functions, x, tolerance=2e-5)


def test_orthogonal_polynomials() -> None:
    x, n = torch.linspace(-1.5, 1.5, 13), torch.arange(13.0) - 2
    names = [f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"]
    agree({name: getattr(torch.special, name) for name in names}, x, n, tolerance=2e-5)


def test_bits_of_numbers() -> None:
    x = torch.tensor([0.0, 1.0, -3.5, 1e-40, 1e30, torch.inf, -torch.inf])
    agree(
        {
            "frexp": lambda x: torch.frexp(x),
            "nextafter": lambda x: torch.nextafter(x, torch.tensor(1.0)),
            "ldexp": lambda x: torch.ldexp(x, torch.tensor(3)),
        },
        x,
    )


def _vocoded(parts: tuple[Any, ...]) -> Any:
    """Sound from the logarithms and angles of its spectrum, which a network gives in one tensor."""
    size, angle = parts
    return torch.istft(size.exp() * torch.exp(1j * angle), 8, 2, 8, torch.hann_window(8))
