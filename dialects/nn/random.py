"""Random numbers that follow from a seed: the same seed gives the same numbers, on every machine and in every run."""

from __future__ import annotations

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import DTYPE, INTS
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float
from ttc.dialects.nn.shape import require_sizes

SEED_TYPE = Spec((), np.dtype(np.int64))


class RandomOp(NNOp):
    """Draws y[shape] of a dtype, from a seed."""

    seed = operand_def(TENSOR)
    shape = prop_def(INTS)
    dtype = prop_def(DTYPE)
    y = result_def(TENSOR)
    traits = traits_def(Pure())

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
