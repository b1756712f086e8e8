"""The gradient of a function of Python: a call of another one, which PyTorch or the user gives."""

from __future__ import annotations

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, OpMaker, cotangent, gradient
from ttc.dialects.nn.gradients.reverse import is_differentiable
from ttc.dialects.nn.kernels.host_call import type_text

GRADIENT = ".gradient"
"""What is appended to the name of a function in the name of the one that gives its gradients."""


@gradient("nn.host_call")
def host_call(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return what the function of gradients makes of the operands, and of the cotangents of the results that are floating point."""
    if site.attrs["function"].endswith(GRADIENT):
        site.refuse(b, "it is a gradient of a function of Python itself")
    xs = [site.operand(index) for index in range(len(site.operands))]
    specs = [spec_of(x.type) for x in xs]
    smooth = [index for index, spec in enumerate(specs) if is_differentiable(spec)]
    dys = [cotangent(b, site, index) for index, y in enumerate(site.results) if is_differentiable(spec_of(y.type))]
    attrs = {
        "function": site.attrs["function"] + GRADIENT,
        "count": len(xs),
        "types": tuple(type_text(specs[i].dtype, specs[i].shape) for i in smooth),
    }
    found = dict(zip(smooth, b.nn_all("host_call", *xs, *dys, **attrs), strict=True))
    return [found.get(index) for index in range(len(xs))]
