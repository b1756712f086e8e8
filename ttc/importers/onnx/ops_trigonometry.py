"""Hyperbolic functions, and the inverses of circular and hyperbolic ones."""

from __future__ import annotations

from ttc.importers.onnx.ops_elementwise import same

sinh_9 = same("sinh")
cosh_9 = same("cosh")
asin_7 = same("asin")
acos_7 = same("acos")
atan_7 = same("atan")
asinh_9 = same("asinh")
acosh_9 = same("acosh")
atanh_9 = same("atanh")
