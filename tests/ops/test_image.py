"""Ops on encoded images: DecodeImageOp."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_error, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.image import DecodeImageOp

Image = pytest.importorskip("PIL.Image")
PICTURE = (np.arange(5 * 7 * 3) * 2 % 256).astype(np.uint8).reshape(5, 7, 3)


def encoded(kind: str = "png", picture: Any = None, **options: Any) -> NDArray:
    """The bytes of a file."""
    out = io.BytesIO()
    (Image.fromarray(PICTURE) if picture is None else picture).save(out, kind, **options)
    return np.frombuffer(out.getvalue(), np.uint8)


def decoded(data: NDArray, pixels: str = "rgb") -> NDArray:
    (y,) = run_op(DecodeImageOp, [data], {"pixels": pixels})
    assert y.dtype == np.uint8
    return y


@pytest.mark.parametrize("kind", ["png", "bmp", "ppm", "tiff"])
def test_lossless_formats_give_the_pixels(kind: str) -> None:
    assert np.array_equal(decoded(encoded(kind)), PICTURE)
    assert np.array_equal(decoded(encoded(kind), "bgr"), PICTURE[:, :, ::-1])


@pytest.mark.parametrize("kind", ["webp", "jpeg2000"])
def test_formats_that_can_be_lossless(kind: str) -> None:
    options = {"lossless": True} if kind == "webp" else {"irreversible": False}
    assert np.array_equal(decoded(encoded(kind, **options)), PICTURE)


def test_jpeg_of_one_colour() -> None:
    flat = Image.new("RGB", (9, 6), (200, 200, 200))
    assert np.array_equal(decoded(encoded("jpeg", flat)), np.full((6, 9, 3), 200))


def test_colours_become_what_is_asked_for() -> None:
    gray = decoded(encoded(), "grayscale")
    wanted = PICTURE @ np.array([0.299, 0.587, 0.114])
    assert gray.shape == (5, 7, 1)
    assert np.abs(gray[..., 0] - wanted).max() <= 1
    palette = Image.new("P", (2, 1))
    palette.putpalette([1, 2, 3, 40, 50, 60])
    palette.putpixel((1, 0), 1)
    assert decoded(encoded(picture=palette)).tolist() == [[[1, 2, 3], [40, 50, 60]]]
    assert decoded(encoded(picture=Image.new("RGBA", (1, 1), (9, 8, 7, 0)))).tolist() == [[[9, 8, 7]]]
    assert decoded(encoded(picture=Image.new("L", (1, 2), 77))).tolist() == [[[77] * 3]] * 2


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", bytes(encoded())[:-30], bytes(encoded("jpeg"))[:60]])
def test_what_is_no_image_has_no_rows(data: bytes) -> None:
    assert decoded(np.frombuffer(data, np.uint8)).shape == (0, 0, 3)
    assert decoded(np.frombuffer(data, np.uint8), "grayscale").shape == (0, 0, 1)


def test_other_formats_and_wider_channels_are_none() -> None:
    assert decoded(encoded("gif")).shape == (0, 0, 3)
    assert decoded(encoded(picture=Image.new("I;16", (2, 2), 40000))).shape == (0, 0, 3)


@pytest.mark.parametrize("side", [8193, 20_000, 1 << 30])
def test_large_pictures_are_refused_by_their_header(side: int) -> None:
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 64)), (b"IEND", b"")]
    body = b"".join(struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks)
    with pytest.raises(Error) as caught:
        decoded(np.frombuffer(b"\x89PNG\r\n\x1a\n" + body, np.uint8))
    assert caught.value.code == "E0805"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(Error) as caught:
        decoded(np.zeros(3, np.uint8))
    assert caught.value.code == "E0104"


def test_operands_and_attributes() -> None:
    check_error("E0401", DecodeImageOp, [spec(2, 2, dtype="uint8")], {"pixels": "rgb"})
    check_error("E0402", DecodeImageOp, [spec(2, dtype="uint8")], {"pixels": "cmyk"})
    check_error("E0403", DecodeImageOp, [spec(2)], {"pixels": "rgb"})
