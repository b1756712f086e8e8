"""Random numbers that follow from a seed: the same seed gives the same numbers, on every machine and in every run."""

from __future__ import annotations

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import DTYPE, FLOAT, INT, INTS
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.shapes import require_sizes
from ttc.dialects.nn.base import TENSOR, NNOp, require_float

SEED_TYPE = Spec((), np.dtype(np.int64))


class RandomOp(NNOp):
    """Draws y[shape] of a dtype, from a seed."""

    seed = operand_def(TENSOR)
    shape = prop_def(INTS)
    dtype = prop_def(DTYPE)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, seed: Spec, *, shape: tuple[int, ...], dtype: np.dtype) -> Spec:
        require_sizes(shape, "shape")
        if seed != SEED_TYPE:
            raise Error("E0403", f"a seed is one int64, not {seed}")
        if not isinstance(dtype, np.dtype):
            raise Error("E0403", f"tensors of {dtype} are not supported")
        return require_float(Spec(shape, dtype))


@irdl_op_definition
class RandomUniformOp(RandomOp):
    """Numbers from 0 up to, but without, 1, all alike probable: those that numpy's Mersenne Twister gives for the seed.

    Args:    seed: tensor[], int64, of which the lowest 32 bits count.  shape: sizes.  dtype: floating point.
    Returns: y: tensor[shape] of the dtype, rounded to it from float64: in a narrow one 1 is possible.
    Raises:  E0402 for a negative size, E0403 for another seed or dtype.
    Source:  ONNX RandomUniform-1, Dropout-13 (in training), Bernoulli-15; numpy.random.RandomState.
    """

    name = "nn.random_uniform"


@irdl_op_definition
class RandomNormalOp(RandomOp):
    """Numbers of mean 0 and standard deviation 1, normally distributed: those that numpy's Mersenne Twister gives for the seed.

    Args:    seed: tensor[], int64, of which the lowest 32 bits count.  shape: sizes.  dtype: floating point.
    Returns: y: tensor[shape] of the dtype, rounded to it from float64.
    Raises:  E0402 for a negative size, E0403 for another seed or dtype.
    Source:  ONNX RandomNormal-1; numpy.random.RandomState.
    """

    name = "nn.random_normal"


@irdl_op_definition
class DropoutOp(NNOp):
    """Elements with probability p are 0, the others x / (1 - p): y[i] = x[i] / (1 - p) where r[i] >= p, for r[i] in [0, 1).

    The numbers r come from the counter-based generator Philox4x32-10: word i % 4 of the block with key (seed's low and high 32 bits) and
    counter (i / 4, offset's low 32 bits, stream, offset's high 32 bits), divided by 2^32.  So the same seed, offset and stream draw the
    same numbers wherever, however often and in whatever order they are computed.

    Args:    x: tensor[...], floating point.  seed, offset: tensor[], int64: of a training, and of an update or microbatch in it.
             p: in [0, 1].  stream: in [0, 2^32): of an op among those of a model.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for integers, and another seed or offset; E0402 for p or stream out of range.
    Source:  torch.nn.functional.dropout; Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3.
    """

    name = "nn.dropout"
    x = operand_def(TENSOR)
    seed = operand_def(TENSOR)
    offset = operand_def(TENSOR)
    p = prop_def(FLOAT)
    stream = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, seed: Spec, offset: Spec, *, p: float, stream: int) -> Spec:
        for number in (seed, offset):
            if number != SEED_TYPE:
                raise Error("E0403", f"a seed or offset is one int64, not {number}")
        if not 0 <= p <= 1 or not 0 <= stream < 1 << 32:
            raise Error("E0402", f"dropout with probability {p} of stream {stream}: they are in [0, 1] and [0, 2^32)")
        return require_float(x)
