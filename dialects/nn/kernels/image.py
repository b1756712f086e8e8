"""Numpy semantics of the ops on encoded images."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("BMP", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
"""Formats of images that ONNX names; other decoders of the package never see the bytes."""
_MODES = frozenset(("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"))
"""Modes of images with up to 8 bits a channel."""
_MAX_PIXELS = 1 << 26


@KERNELS.rule("decode_image")
def decode_image(data: NDArray, *, pixels: str) -> NDArray:
    """Return the first picture in a file, [rows, columns, channels]."""
    channels = 1 if pixels == "grayscale" else 3
    try:
        from PIL import Image
    except ImportError:
        raise Error("E0104", "images are decoded with Pillow, which is not installed", hint="pip install 'ttc[images]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data.tobytes()), formats=_FORMATS) as picture:
                found = _decoded(picture, "L" if channels == 1 else "RGB")
    except (Error, MemoryError):
        raise
    except Image.DecompressionBombError as error:
        raise Error("E0805", f"an image is too large: {str(error)[:100]}") from None
    except Exception:  # noqa: BLE001 - decoders raise whatever they like for damaged bytes, and ONNX asks for an empty picture
        return np.zeros((0, 0, channels), np.uint8)
    found = found.reshape(*found.shape[:2], channels)
    return np.ascontiguousarray(found[:, :, ::-1]) if pixels == "bgr" else found


def _decoded(picture: Image, mode: str) -> NDArray:
    """Return the pixels.  Raises E0805 before anything is decoded, ValueError for channels of more than 8 bits."""
    if picture.width * picture.height > _MAX_PIXELS:
        raise Error("E0805", f"an image of {picture.width} x {picture.height} pixels is too large: {_MAX_PIXELS} are possible")
    if picture.mode not in _MODES:
        raise ValueError(picture.mode)
    return np.array(picture if picture.mode == mode else picture.convert(mode), np.uint8)
