"""Decoding of images has no gradient."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("it takes the bytes of a file", "nn.decode_image")
