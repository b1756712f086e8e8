"""Numpy semantics of convolutions and pooling over channels-last images."""

from __future__ import annotations

from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.kernels import KERNELS

KERNELS.add("conv2d", lambda x, w, bias=None, **attrs: kernel("nn.conv2d")(x, w, bias, layout="nhwc", **attrs))
KERNELS.add("conv_transpose2d", lambda x, w, bias=None, **attrs: kernel("nn.conv_transpose2d")(x, w, bias, layout="nhwc", **attrs))
KERNELS.add("max_pool2d", lambda x, **attrs: kernel("nn.max_pool2d")(x, layout="nhwc", **attrs))
KERNELS.add("avg_pool2d", lambda x, **attrs: kernel("nn.avg_pool2d")(x, layout="nhwc", **attrs))
