"""The row for ONNX ImageDecoder, which reads images in files."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("ImageDecoder-20")
def image_decoder_20(b: Builder, encoded: SSAValue, *, pixel_format: str = "RGB") -> SSAValue:
    return b.nn("decode_image", encoded, pixels=pixel_format.lower())
