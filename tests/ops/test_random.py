"""RandomUniformOp, RandomNormalOp and DropoutOp: numbers that follow from a seed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_error, check_op, spec
from ttc.dialects.nn.kernels.random import philox_words
from ttc.dialects.nn.random import DropoutOp, RandomNormalOp, RandomUniformOp

SEED = spec(dtype="int64")


@pytest.mark.parametrize("seed", [0, 7, -1, 1 << 40])
def test_numbers_are_those_of_numpy(seed: int) -> None:
    state = np.random.RandomState(seed & 0xFFFFFFFF)
    attrs = {"shape": (3, 4), "dtype": np.dtype(np.float32)}
    check_op(RandomUniformOp, [np.array(seed)], attrs, state.random_sample((3, 4)).astype(np.float32))
    state = np.random.RandomState(seed & 0xFFFFFFFF)
    check_op(RandomNormalOp, [np.array(seed)], attrs, state.standard_normal((3, 4)).astype(np.float32))


def test_what_they_refuse() -> None:
    good = {"shape": (2,), "dtype": np.dtype(np.float32)}
    for op in (RandomUniformOp, RandomNormalOp):
        check_error("E0403", op, [spec(1, dtype="int64")], good)
        check_error("E0403", op, [spec()], good)
        check_error("E0403", op, [SEED], {**good, "dtype": np.dtype(np.int32)})
        check_error("E0402", op, [SEED], {**good, "shape": (-1,)})


def words(seed: int, offset: int, stream: int, block: int) -> list[int]:
    """Philox4x32-10 as its paper writes it, of one block."""
    counter, key = [block, offset & 0xFFFFFFFF, stream, offset >> 32], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        left, right = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(right >> 32) ^ counter[1] ^ key[0], right & 0xFFFFFFFF, (left >> 32) ^ counter[3] ^ key[1], left & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def test_the_generator_is_philox() -> None:
    """The vectors of zeros are those of Random123, the library of its authors."""
    assert words(0, 0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox_words(0, 0, 0, 4).tolist() == words(0, 0, 0, 0)
    seed, offset = 0x299F31D0A4093822, 0x0370734413198A2E
    found = philox_words(seed, offset, 0x243F6A88, 11).tolist()
    assert found == [word for block in range(3) for word in words(seed, offset, 0x243F6A88, block)][:11]
    assert philox_words(-1, 0, 0, 4).tolist() == words((1 << 64) - 1, 0, 0, 0)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(p: float, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 5, 7)).astype(np.float32)
    kept = (philox_words(7, 2, 3, x.size) >= p * 2**32).reshape(x.shape)
    expected = np.where(kept, x / np.float32(1 - p or 1), 0).astype(np.float32)
    check_op(DropoutOp, [x, np.array(7), np.array(2)], {"p": p, "stream": 3}, expected)


def test_draws_differ_by_seed_offset_and_stream_and_have_the_share_asked_for() -> None:
    drawn = [philox_words(*key, 4096) for key in ((1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1))]
    assert all((one != other).mean() > 0.99 for i, one in enumerate(drawn) for other in drawn[:i])
    assert abs((drawn[0] < 0.25 * 2**32).mean() - 0.25) < 0.03


def test_what_dropout_refuses() -> None:
    good = {"p": 0.5, "stream": 0}
    check_error("E0403", DropoutOp, [spec(2, dtype="int32"), SEED, SEED], good)
    check_error("E0403", DropoutOp, [spec(2), SEED, spec(1, dtype="int64")], good)
    check_error("E0402", DropoutOp, [spec(2), SEED, SEED], {**good, "p": 1.5})
    check_error("E0402", DropoutOp, [spec(2), SEED, SEED], {**good, "stream": -1})
