"""What nn functions compute that a test makes with an OpMaker, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.entries import Port, finish_function, make_function
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.plain.interpret import run
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.gradients.maker import GradientMaker
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.making import filled

Made = Callable[[GradientMaker, Sequence[SSAValue]], Sequence[SSAValue]]


def computed(make: Made, arrays: Sequence[NDArray], gradients: Sequence[int] = ()) -> list[NDArray]:
    """The values that `make` gives for arguments, then the gradients of the first of them with respect to some arguments."""
    ports = [(Port(f"x{i}"), tensor_type(Spec(x.shape, x.dtype))) for i, x in enumerate(arrays)]
    function, weights = make_function("test", ports), WeightStore()
    block = function.body.block
    maker = GradientMaker(block, weights)
    values = list(make(maker, block.args))
    if gradients:
        wanted = [block.args[i] for i in gradients]
        found = pull_back(maker, list(block.ops), {values[0]: filled(maker, 1.0, values[0])}, wanted, maker)
        values += [found[x] for x in wanted]
    finish_function(function, [(Port(f"y{i}"), value) for i, value in enumerate(values)])

    def resolve(work: Work) -> NDArray:
        value = weights[str(work.attrs["key"])].value()
        return format_of(value.dtype).unpack(value)

    with np.errstate(all="ignore"):
        return run(plain_block(block), list(arrays), resolve)
