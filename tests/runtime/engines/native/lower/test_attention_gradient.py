"""Attention's gradient against its formula in float64."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from tests.runtime.engines.native.lower.test_attention import IN_TILES, LEVELS, LOWEST, SIZES, fenced, rounded
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

KERNELS = ("AttentionGradient", "AttentionGradientTiles", "QuerySums")
RESULTS = ("dq", "dk", "dv")


@dataclass(frozen=True)
class Case:
    """Operands of an attention, the cotangent of its result, and what is asked of the engine."""

    q: NDArray
    k: NDArray
    v: NDArray
    dy: NDArray
    mask: NDArray | None = None
    scale: float = 0.5
    zero_masked: bool = False
    format: str = "Float32"
    options: dict[str, str | bool] = field(default_factory=dict)
    kernel: str = "AttentionGradient"

    def operands(self) -> list[NDArray]:
        """Return what the op takes; result and sums are those of float64, rounded."""
        wide = [x.astype(np.float64) for x in (self.q, self.k, self.v)]
        mask = None if self.mask is None else self.mask.astype(np.float64)
        with np.errstate(all="ignore"):
            y, sums = kernel("tile.attention_training")(*wide, mask, scale=self.scale, zero_masked=self.zero_masked)
        y = np.asarray(y).astype(np.float32)
        found = [self.q, self.k, self.v, rounded(y) if self.format == "Float16_b" else y, np.asarray(sums).astype(np.float32), self.dy]
        return found if self.mask is None else [*found, self.mask]

    def expected(self, operands: list[NDArray]) -> tuple[NDArray, ...]:
        with np.errstate(all="ignore"):
            found = kernel("tile.attention_gradient")(*(x.astype(np.float64) for x in operands), scale=self.scale)
        assert isinstance(found, tuple)
        return found

    def magnitudes(self, operands: list[NDArray]) -> tuple[NDArray, ...]:
        """Return sums of the magnitudes of what each result is a sum of, a score's error being relative to its sum of magnitudes."""
        q, k, v, y, sums, dy, *masks = (x.astype(np.float64) for x in operands)
        with np.errstate(all="ignore"):
            p = np.exp(q @ k.swapaxes(-1, -2) * self.scale + (masks[0] if masks else 0) - sums[..., None])
            p *= 1 + np.abs(q) @ np.abs(k).swapaxes(-1, -2) * abs(self.scale)
            parts = p * (np.abs(dy) @ np.abs(v).swapaxes(-1, -2) + np.abs(dy * y).sum(-1, keepdims=True)) * abs(self.scale)
            return parts @ np.abs(k), parts.swapaxes(-1, -2) @ np.abs(q), p.swapaxes(-1, -2) @ np.abs(dy)

    def run(self, operands: list[NDArray], result: int) -> Ran:
        lead = self.dy.shape[:-2]
        results = tuple(TensorType((*lead, *x.shape[-2:]), self.format) for x in (self.q, self.k, self.v))
        numbers = (*range(6), 6 if self.mask is not None else None)
        works = [
            Work("tile.attention_gradient", numbers, {"scale": self.scale}, results),
            Work("tile.relayout", (len(operands) + result,), {}, (results[result],)),
        ]
        given = [Given(x, "Float32" if i == 4 else self.format) for i, x in enumerate(operands)]
        found = ran(works, given, **self.options)  # pyright: ignore[reportArgumentType]
        assert not found.refusals
        assert [name for name in found.kernels if name in KERNELS] == [self.kernel, "QuerySums"]
        return found

    def check(self, share: float = 2e-6) -> None:
        """Compare all results, relative to the sums of magnitudes."""
        operands = self.operands()
        for i, (expected, size) in enumerate(zip(self.expected(operands), self.magnitudes(operands), strict=True)):
            native = self.run(operands, i).native
            np.testing.assert_array_equal(np.isnan(native), np.isnan(expected), err_msg=RESULTS[i])
            assert (np.abs(np.nan_to_num(native - expected)) <= share * np.nan_to_num(size) + 1e-30).all(), RESULTS[i]


def case(lead: tuple[int, ...], rows: int, keys: int, depth: int, columns: int, **options: object) -> Case:
    operands = normal(*lead, rows, depth), normal(*lead, keys, depth), normal(*lead, keys, columns)
    return Case(*operands, normal(*lead, rows, columns), **options)  # pyright: ignore[reportArgumentType]


@settings(max_examples=8)
@given(rows=st.sampled_from(SIZES), keys=st.sampled_from(SIZES), depth=st.sampled_from(SIZES), columns=st.sampled_from(SIZES))
def test_odd_shapes(rows: int, keys: int, depth: int, columns: int) -> None:
    case((2,), rows, keys, depth, columns).check()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(1, 17, 5, 70), (67, 33, 16, 7), (53, 401, 24, 33), (200, 131, 64, 64)])
def test_instruction_sets(level: str, shape: tuple[int, int, int, int]) -> None:
    case((2,), *shape, mask=normal(shape[0], shape[1]), options={"level": level}).check()


@pytest.mark.parametrize("shape", [(150, 300, 33, 20), (49, 129, 200, 3), (100, 1000, 64, 64)])
def test_several_blocks_of_keys(shape: tuple[int, int, int, int]) -> None:
    """The keys of one head are dealt out to several tasks; of many heads each is one task."""
    case((), *shape, scale=0.1).check()
    case((13,), *shape[:2], 8, 5, scale=0.3).check()


@pytest.mark.parametrize("shape", [(37,), (1, 37), (21, 37), (21, 1), (3, 1, 37), (2, 1, 21, 37), (2, 3, 21, 37), (1, 3, 1, 1)], ids=str)
def test_masks_are_broadcast(shape: tuple[int, ...]) -> None:
    case((2, 3), 21, 37, 8, 16, mask=normal(*shape)).check()


@pytest.mark.parametrize("zero_masked", [False, True])
@pytest.mark.parametrize("keys", [37, 300])
def test_masked_scores(keys: int, zero_masked: bool) -> None:
    """Rows of which some keys, none, all, or a whole block are masked; where all are, the sums say what the gradient is."""
    mask = np.zeros((60, keys), np.float32)
    mask[1] = -np.inf
    mask[2, ::2] = -np.inf
    mask[3, : keys // 2 + 1] = -np.inf
    mask[4, keys // 2 :] = -np.inf
    mask[5, 1:] = LOWEST
    mask[48:, : keys - 1] = -np.inf
    case((2,), 60, keys, 8, 16, mask=mask, zero_masked=zero_masked).check()


def test_causal() -> None:
    mask = np.triu(np.full((300, 300), -np.inf, np.float32), 1)
    case((2,), 300, 300, 16, 16, mask=mask, zero_masked=True).check()


def test_keys_that_the_mask_leaves_to_no_query_of_a_group_are_not_looked_at() -> None:
    mask = np.zeros((50, 700), np.float32)
    mask[:, 13:] = -np.inf
    found = case((13,), 50, 700, 8, 16, mask=mask, zero_masked=True)
    operands = found.operands()
    expected = found.expected(operands)
    operands[1][:, 200:], operands[2][:, 200:] = np.nan, np.nan
    np.testing.assert_allclose(found.run(operands, 0).native, expected[0], atol=1e-5)
    for i in (1, 2):
        native = found.run(operands, i).native
        np.testing.assert_allclose(native, expected[i], atol=1e-5)
        assert not native[:, 13:].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", range(4))
def test_special_values_come_out_as_from_the_formula(operand: int, value: float) -> None:
    """One element of one operand, in the second block of keys, is such a value."""
    found = case((2,), 19, 300, 4, 5)
    (found.q, found.k, found.v, found.dy)[operand][..., 7 if operand in (0, 3) else 290, 2] = value
    operands = found.operands()
    for i in range(3):
        ran_ = found.run(operands, i)
        np.testing.assert_array_equal(np.isfinite(ran_.native), np.isfinite(ran_.reference), err_msg=RESULTS[i])
        finite = np.isfinite(ran_.reference)
        np.testing.assert_allclose(ran_.native[finite], ran_.reference[finite], rtol=1e-4, atol=1e-5)


def test_heads_that_share_keys() -> None:
    q, k, v, dy = normal(2, 4, 3, 13, 8), normal(2, 4, 1, 29, 8), normal(2, 1, 3, 29, 6), normal(2, 4, 3, 13, 6)
    Case(q, k, v, dy, normal(29)).check()
    Case(normal(13, 8), k, v, dy).check()


def check_narrow(found: Case, share: float) -> None:
    """Compare rows of all results of operands in bfloat16: relative to their sums of magnitudes."""
    mask = None if found.mask is None else rounded(found.mask)
    given = replace(found, q=rounded(found.q), k=rounded(found.k), v=rounded(found.v), dy=rounded(found.dy), mask=mask, format="Float16_b")
    operands = given.operands()
    for i, (expected, size) in enumerate(zip(given.expected(operands), given.magnitudes(operands), strict=True)):
        native = given.run(operands, i).native
        np.testing.assert_array_equal(np.isnan(native), np.isnan(expected), err_msg=RESULTS[i])
        assert (np.abs(np.nan_to_num(native - expected)) <= share * np.nan_to_num(size) + 1e-30).all(), RESULTS[i]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(33, 64, 16, 20), (60, 301, 7, 3)])
def test_narrow_formats(precision: str, shape: tuple[int, int, int, int]) -> None:
    """Without tiles, products are those of float32 at every precision; results are rounded."""
    check_narrow(case((2,), *shape, options={"precision": precision, "level": "avx512"}), 4e-3)


@pytest.mark.parametrize("options", IN_TILES, ids=str)
@pytest.mark.parametrize("shape", [(33, 40, 32, 20), (70, 301, 48, 40), (200, 129, 64, 64), (48, 64, 96, 32)])
@pytest.mark.parametrize("masked", [False, True])
def test_tiles(options: dict[str, str | bool], shape: tuple[int, int, int, int], masked: bool) -> None:
    mask = normal(*shape[:2]) if masked else None
    options = {"precision": "bfloat16", **options}
    check_narrow(case((2,), *shape, mask=mask, scale=0.15, options=options, kernel="AttentionGradientTiles"), 8e-3)


@pytest.mark.parametrize("options", IN_TILES, ids=str)
@pytest.mark.parametrize(("rows", "keys", "depth", "columns"), [(1, 5, 7, 3), (67, 300, 17, 33), (5, 33, 80, 1)])
def test_odd_shapes_in_tiles(options: dict[str, str | bool], rows: int, keys: int, depth: int, columns: int) -> None:
    """Emulated tiles are used whatever the shape."""
    kernel = "AttentionGradientTiles" if options.get("tiles") else "AttentionGradient"
    options = {"precision": "bfloat16", **options}
    found = case((), rows, keys, depth, columns, mask=normal(1, keys), scale=0.2, options=options, kernel=kernel)
    if kernel == "AttentionGradientTiles":
        check_narrow(found, 8e-3)


@pytest.mark.parametrize("options", IN_TILES, ids=str)
def test_masked_scores_in_tiles(options: dict[str, str | bool]) -> None:
    """Rows that are masked in part, whole, and all of a group; causal for the others."""
    mask = np.triu(np.full((200, 200), -np.inf, np.float32), 1)
    mask[3] = -np.inf
    mask[70:130, :150] = -np.inf
    options = {"precision": "bfloat16", **options}
    check_narrow(
        case((2,), 200, 200, 32, 32, mask=mask, scale=0.2, zero_masked=True, options=options, kernel="AttentionGradientTiles"), 8e-3
    )


@pytest.mark.parametrize("options", IN_TILES, ids=str)
@pytest.mark.parametrize("shape", [(33, 45, 36, 40), (70, 150, 64, 33)])
def test_nothing_is_read_behind_operands_of_tiles(options: dict[str, str | bool], shape: tuple[int, int, int, int]) -> None:
    options = {"precision": "bfloat16", **options}
    found = case((2,), *shape, mask=normal(*shape[:2]), scale=0.15, options=options, kernel="AttentionGradientTiles")
    operands = found.operands()
    for i, expected in enumerate(found.expected(operands)):
        native = found.run([fenced(x) for x in operands], i).native
        assert np.linalg.norm(native - expected) <= 1e-2 * np.linalg.norm(expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_run_gives_the_same_bits(threads: int) -> None:
    """Whatever the threads: chunks of keys, and the order of their sums, follow from the shapes."""
    found = case((2,), 70, 700, 16, 16, options={"threads": threads})  # pyright: ignore[reportArgumentType]
    operands = found.operands()
    for i in range(3):
        first = replace(found, options={}).run(operands, i).native
        np.testing.assert_array_equal(found.run(operands, i).native, first)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(13, 35, 9, 21), (49, 300, 16, 16)])
def test_nothing_is_read_behind_operands(level: str, shape: tuple[int, int, int, int]) -> None:
    found = case((2,), *shape, mask=normal(*shape[:2]), options={"level": level})
    operands = found.operands()
    for i, expected in enumerate(found.expected(operands)):
        native = found.run([fenced(x) for x in operands], i).native
        np.testing.assert_allclose(native, expected, rtol=1e-4, atol=1e-4)
