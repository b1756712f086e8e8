"""Ops on encoded images, which run on the host."""

from __future__ import annotations

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import STR
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.nn.base import TENSOR, NNOp

CHANNELS = {"rgb": 3, "bgr": 3, "grayscale": 1}
"""Elements a pixel, by the order of its colours."""


@irdl_op_definition
class DecodeImageOp(NNOp):
    """The picture that the bytes of a file of BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP hold; one without rows for what is none.

    Args:    data: tensor[bytes], uint8: the file.  pixels: rgb, bgr or grayscale: what the picture becomes, whatever its own colours are;
             transparency is dropped.
    Returns: y: tensor[?, ?, channels], uint8: rows, columns, 3 or 1 channels.  Of several pictures in a file the first.
             Pictures of more than 64 M pixels are E0805 when the op runs; without the package Pillow it is E0104.
    Raises:  E0401 if data is no list of bytes, E0402 for other pixels, E0403 for another dtype.
    Source:  ONNX ImageDecoder-20.
    """

    name = "nn.decode_image"
    data = operand_def(TENSOR)
    pixels = prop_def(STR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, data: Spec, *, pixels: str) -> Spec:
        if data.dtype != np.uint8:
            raise Error("E0403", f"takes the bytes of a file, not {data.dtype}")
        if data.rank != 1:
            raise Error("E0401", f"{data} is not a list of bytes")
        if pixels not in CHANNELS:
            raise Error("E0402", f"pixels are rgb, bgr or grayscale, not '{pixels[:40]}'")
        return Spec((DYNAMIC, DYNAMIC, CHANNELS[pixels]), np.dtype(np.uint8))
