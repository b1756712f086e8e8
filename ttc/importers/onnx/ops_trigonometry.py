"""Hyperbolic functions, and the inverses of circular and hyperbolic ones."""

from __future__ import annotations

from ttc.importers.onnx.ops_elementwise import same
from ttc.importers.onnx.tables import MAPPINGS

MAPPINGS.add("Sinh-9", same("sinh"))
MAPPINGS.add("Cosh-9", same("cosh"))
MAPPINGS.add("Asin-7", same("asin"))
MAPPINGS.add("Acos-7", same("acos"))
MAPPINGS.add("Atan-7", same("atan"))
MAPPINGS.add("Asinh-9", same("asinh"))
MAPPINGS.add("Acosh-9", same("acosh"))
MAPPINGS.add("Atanh-9", same("atanh"))
