"""Numpy semantics of hyperbolic functions and of the inverses of circular and hyperbolic ones."""

from __future__ import annotations

import numpy as np

from ttc.dialects.nn.kernels import of_one

of_one("sinh", np.sinh)
of_one("cosh", np.cosh)
of_one("asin", np.arcsin)
of_one("acos", np.arccos)
of_one("atan", np.arctan)
of_one("asinh", np.arcsinh)
of_one("acosh", np.arccosh)
of_one("atanh", np.arctanh)
