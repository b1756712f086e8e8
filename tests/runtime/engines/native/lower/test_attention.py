"""Attention against its formula in float64."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.kernels.attention import Attention
from ttc.runtime.engines.native.lower import attention as lowering

LEVELS = ("amx", "avx2", "generic")
SIZES = (1, 2, 5, 15, 17, 33, 67)
LOWEST = np.finfo(np.float32).min


@dataclass(frozen=True)
class Case:
    """Operands and attributes of an attention."""

    q: NDArray
    k: NDArray
    v: NDArray
    mask: NDArray | None = None
    scale: float = 0.5
    zero_masked: bool = False
    format: str = "Float32"
    options: dict[str, str | bool] = field(default_factory=dict)

    @property
    def operands(self) -> list[NDArray]:
        return [x for x in (self.q, self.k, self.v, self.mask) if x is not None]

    def expected(self) -> NDArray:
        with np.errstate(all="ignore"):
            wide = [x.astype(np.float64) for x in self.operands]
            found = kernel("tile.attention")(*wide, scale=self.scale, zero_masked=self.zero_masked)
        assert isinstance(found, np.ndarray)
        return found

    def run(self) -> Ran:
        lead = np.broadcast_shapes(*(x.shape[:-2] for x in (self.q, self.k, self.v)))
        type_ = TensorType((*lead, self.q.shape[-2], self.v.shape[-1]), self.format)
        attrs = {"scale": self.scale, "zero_masked": self.zero_masked}
        work = Work("tile.attention", (0, 1, 2, None if self.mask is None else 3), attrs, (type_,))
        found = ran([work], [Given(x, self.format) for x in self.operands], **self.options)  # pyright: ignore[reportArgumentType]
        assert not found.refusals
        assert [name for name in found.kernels if name != "CopyRows"][-1] == "Attention"
        return found

    def check(self) -> None:
        np.testing.assert_allclose(self.run().native, self.expected(), rtol=2e-5, atol=1e-5)


def case(lead: tuple[int, ...], rows: int, keys: int, depth: int, columns: int, **options: object) -> Case:
    return Case(normal(*lead, rows, depth), normal(*lead, keys, depth), normal(*lead, keys, columns), **options)  # pyright: ignore[reportArgumentType]


@settings(max_examples=8)
@given(rows=st.sampled_from(SIZES), keys=st.sampled_from(SIZES), depth=st.sampled_from(SIZES), columns=st.sampled_from(SIZES))
def test_odd_shapes(rows: int, keys: int, depth: int, columns: int) -> None:
    case((2,), rows, keys, depth, columns).check()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(1, 17, 5, 70), (67, 33, 16, 7), (53, 401, 24, 33)])
def test_instruction_sets(level: str, shape: tuple[int, int, int, int]) -> None:
    rows, keys, _, _ = shape
    mask = normal(rows, keys)
    case((3,), *shape, mask=mask, options={"level": level}).check()


@pytest.mark.parametrize("rows", [1, 500])
def test_many_keys_come_in_blocks_and_many_rows_in_tasks(rows: int) -> None:
    found = case((2,), rows, 1031, 8, 16, scale=3.0)
    found.check()


def test_rows_of_many_elements_take_fewer_keys_at_a_time() -> None:
    case((2,), 5, 60, 3000, 2000, scale=0.01).check()


def test_rows_that_would_take_too_much_memory_are_left_to_python() -> None:
    q = normal(1, 300_000)
    work = Work("tile.attention", (0, 0, 0, None), {"scale": 0.1, "zero_masked": False}, (TensorType(q.shape, "Float32"),))
    found = ran([work], [Given(q)])
    assert found.refusals == (("tile.attention", "rows of too many elements"),)
    np.testing.assert_array_equal(found.native, q)


MASKS = [(1, 1, 1, 37), (1, 1, 21, 37), (2, 3, 21, 37), (2, 1, 1, 37), (3, 21, 1), (37,), (), (1, 3, 1, 1)]


@pytest.mark.parametrize("shape", MASKS, ids=str)
def test_masks_are_broadcast(shape: tuple[int, ...]) -> None:
    case((2, 3), 21, 37, 8, 16, mask=normal(*shape)).check()


@pytest.mark.parametrize("zero_masked", [False, True])
@pytest.mark.parametrize("keys", [37, 700])
def test_masked_scores(zero_masked: bool, keys: int) -> None:
    """Rows of which some keys, none, all, or a whole block are masked, by -inf or by the lowest number."""
    mask = np.zeros((9, keys), np.float32)
    mask[1] = -np.inf
    mask[2] = LOWEST
    mask[3, ::2] = -np.inf
    mask[4, : keys // 2 + 1] = -np.inf
    mask[5, keys // 2 :] = -np.inf
    mask[6, 1:] = LOWEST
    mask[7, : keys - 1] = -np.inf
    found = case((2,), 9, keys, 8, 16, mask=mask, zero_masked=zero_masked)
    found.check()
    rows = found.run().native[:, 1]
    assert (rows == 0).all() if zero_masked else np.isnan(rows).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", range(4))
def test_special_values_come_out_as_from_the_formula(value: float, operand: int) -> None:
    """One element of one operand, in the second block of keys, is such a value."""
    found = case((2,), 19, 600, 4, 5, mask=normal(19, 600), zero_masked=True)
    found.operands[operand][..., 7 if operand in (0, 3) else 590, 2] = value
    reference = found.run()
    np.testing.assert_array_equal(np.isnan(reference.native), np.isnan(reference.reference))
    np.testing.assert_allclose(reference.native, reference.reference, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(("rows", "keys", "seen"), [(1, 700, 1), (1, 700, 257), (3, 60, 33), (200, 700, 300)])
def test_keys_that_the_mask_leaves_to_no_row_are_not_looked_at(rows: int, keys: int, seen: int) -> None:
    mask = np.where(np.arange(keys) < seen - rows + 1 + np.arange(rows)[:, None], 0, -np.inf).astype(np.float32)
    mask[:, 0] = 0
    found = case((2,), rows, keys, 8, 16, mask=mask)
    expected = found.run().reference
    end = -(-seen // 16) * 16  # of the last vector that is looked at
    found.operands[1][..., end:, :], found.operands[2][..., end:, :] = np.nan, np.nan
    np.testing.assert_allclose(found.run().native, expected, atol=1e-5)


def test_scores_that_overflow_when_they_are_not_scaled() -> None:
    found = Case(np.full((1, 2), 1e20, np.float32), np.full((3, 2), 1e20, np.float32), normal(3, 4), scale=1e-39)
    found.check()


def test_heads_that_share_keys() -> None:
    q, k, v = normal(2, 4, 3, 13, 8), normal(2, 4, 1, 29, 8), normal(2, 4, 1, 29, 6)
    Case(q, k, v, normal(29)).check()
    Case(normal(13, 8), k, v).check()
    Case(q, k, normal(1, 1, 29, 6)).check()


def test_heads_side_by_side_are_read_and_written_where_they_lie() -> None:
    types = [TensorType((2, 4, 21, 8), "Float32")] * 4
    cut = [Work("tile.hslice", (i,), {"n": 4}, (types[i],)) for i in range(3)]
    work = Work("tile.attention", (3, 4, 5, None), {"scale": 0.25, "zero_masked": False}, (types[3],))
    joined = Work("tile.hstack", (6,), {"n": 4}, (TensorType((2, 21, 32), "Float32"),))
    operands = [normal(2, 21, 32) for _ in range(3)]
    found = ran([*cut, work, joined], [Given(x) for x in operands])
    assert found.kernels == ("Attention",)
    assert not found.refusals
    q, k, v = (x.reshape(2, 21, 4, 8).swapaxes(1, 2) for x in operands)
    expected = Case(q, k, v, scale=0.25).expected().swapaxes(1, 2).reshape(2, 21, 32)
    np.testing.assert_allclose(found.native, expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(33, 64, 16, 20), (33, 701, 16, 20), (20, 33, 16, 5), (5, 29, 7, 3)])
def test_narrow_formats(precision: str, shape: tuple[int, int, int, int]) -> None:
    """Where the depth does not come in pairs, products are those of float32, whatever the precision."""
    rows, keys, _, _ = shape
    operands = case((2,), *shape, mask=normal(rows, keys), format="Float16_b", options={"precision": precision})
    found = operands.run()
    difference = found.native - found.reference
    assert np.linalg.norm(difference) < 5e-3 * np.linalg.norm(found.reference)


IN_TILES = [
    *({"tiles": True, "level": level} for level in ("avx512", "avx2", "generic")),
    pytest.param({}, marks=pytest.mark.skipif(not host_cpu().has("amx-bf16"), reason="the CPU has no AMX")),
]
"""Emulated tiles with vectors of all sizes, and those of the CPU."""


def check_in_tiles(found: Case) -> None:
    """Compare each row with float64, relative to its sums of magnitudes: exponentials and results are rounded to bfloat16."""
    options = {"precision": "bfloat16", **found.options}
    case = replace(found, q=rounded(found.q), k=rounded(found.k), v=rounded(found.v), format="Float16_b", options=options)
    ran, expected = case.run(), case.expected()
    np.testing.assert_array_equal(np.isnan(ran.native), np.isnan(expected))
    magnitudes = replace(case, v=np.abs(case.v)).expected()
    difference, size = (np.linalg.norm(np.nan_to_num(x), axis=-1) for x in (ran.native - expected, magnitudes))
    assert (difference <= 5e-3 * size).all()


def rounded(x: NDArray) -> NDArray:
    """Return the nearest numbers that bfloat16 holds."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


@pytest.mark.parametrize("options", IN_TILES, ids=str)
@pytest.mark.parametrize("rows", [1, 5, 33, 197])
@pytest.mark.parametrize(("keys", "depth", "columns"), [(1, 8, 64), (31, 20, 5), (77, 64, 80), (300, 80, 33), (40, 7, 3)])
def test_tiles(options: dict[str, str | bool], rows: int, keys: int, depth: int, columns: int) -> None:
    check_in_tiles(case((2,), rows, keys, depth, columns, mask=rounded(normal(rows, keys)), options=options))


@pytest.mark.parametrize(("options", "wanted"), [({"tiles": True}, True), ({"level": "avx512"}, False)])
def test_tiles_are_used_where_there_are_any(options: dict[str, str | bool], wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[bool] = []

    def made(*arguments: Any, **named: Any) -> Attention:
        chosen.append(named.get("tiles", False))
        return Attention(*arguments, **named)

    monkeypatch.setattr(lowering, "Attention", made)
    check_in_tiles(case((2,), 40, 40, 64, 64, options=options))
    assert chosen[-1] is wanted


@pytest.mark.parametrize("zero_masked", [False, True])
@pytest.mark.parametrize("options", IN_TILES, ids=str)
@pytest.mark.parametrize("keys", [37, 300])
def test_masked_scores_in_tiles(options: dict[str, str | bool], keys: int, zero_masked: bool) -> None:
    """Rows of which some keys, none, all, or a whole block are masked; and a cache whose end no row looks at."""
    rows = 40
    mask = np.zeros((rows, keys), np.float32)
    mask[1] = -np.inf
    mask[2, ::2] = -np.inf
    mask[3, : keys // 2 + 1] = -np.inf
    mask[4, keys // 2 :] = -np.inf
    mask[5, 1:] = rounded(np.array(LOWEST / 2))
    mask[6] = -100 * np.arange(keys)
    check_in_tiles(case((2,), rows, keys, 20, 40, mask=mask, zero_masked=zero_masked, options=options))
    cache = np.where(np.arange(keys) < 19, mask[0], -np.inf).astype(np.float32)
    found = case((2,), rows, keys, 20, 40, mask=cache, options=options)
    found.k[..., 32:, :], found.v[..., 32:, :] = np.nan, np.nan
    operands = {"precision": "bfloat16", **options}
    seen = Case(rounded(found.q), rounded(found.k), rounded(found.v), cache, format="Float16_b", options=operands).run().native
    short = Case(rounded(found.q), rounded(found.k)[..., :19, :], rounded(found.v)[..., :19, :]).expected()
    assert np.linalg.norm(seen - short) <= 1e-2 * np.linalg.norm(short)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", range(3))
@pytest.mark.parametrize("options", IN_TILES, ids=str)
def test_special_values_in_tiles(options: dict[str, str | bool], operand: int, value: float) -> None:
    """One element of one operand, in the second block of keys, is such a value."""
    found = case((2,), 40, 300, 20, 40, zero_masked=True, options={"precision": "bfloat16", **options})
    for x in found.operands:
        x[...] = rounded(x)
    found.operands[operand][..., 7 if operand == 0 else 290, 2] = value
    ran = found.run()
    np.testing.assert_array_equal(np.isnan(ran.native), np.isnan(ran.reference))
    np.testing.assert_array_equal(np.isinf(ran.native), np.isinf(ran.reference))
    finite = np.isfinite(ran.reference)
    difference = ran.native[finite] - ran.reference[finite]
    assert np.linalg.norm(difference) <= 1e-2 * np.linalg.norm(ran.reference[finite])


@pytest.mark.parametrize("options", IN_TILES, ids=str)
@pytest.mark.parametrize("shape", [(13, 35, 9, 21), (33, 300, 20, 16), (1, 31, 80, 3)])
def test_nothing_is_read_behind_operands_of_tiles(options: dict[str, str | bool], shape: tuple[int, int, int, int]) -> None:
    found = case((2,), *shape, mask=normal(*shape[:2]), options={"precision": "bfloat16", **options})
    q, k, v = (fenced(rounded(x)) for x in (found.q, found.k, found.v))
    ran = Case(q, k, v, fenced(found.operands[3]), options=found.options).run()
    assert np.linalg.norm(ran.native - ran.reference) <= 1e-2 * np.linalg.norm(ran.reference)


def fenced(x: NDArray) -> NDArray:
    """A copy that ends where readable memory does."""
    pages = -(-x.nbytes // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    whole = np.frombuffer(memory, np.uint8)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(whole.ctypes.data + pages * mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    found = whole[pages * mmap.PAGESIZE - x.nbytes : pages * mmap.PAGESIZE].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(13, 35, 9, 21), (13, 300, 16, 16)])
def test_nothing_is_read_behind_operands(level: str, shape: tuple[int, int, int, int]) -> None:
    rows, keys, _, _ = shape
    found = case((2,), *shape, mask=normal(rows, keys))
    q, k, v, mask = (fenced(x) for x in found.operands)
    Case(q, k, v, mask, options={"level": level}).check()


@pytest.mark.parametrize("zero_masked", [False, True])
@pytest.mark.parametrize(
    "options",
    [*({"level": level} for level in LEVELS), {"tiles": True, "precision": "bfloat16"}],
    ids=lambda options: str([*options.values()]),
)
@pytest.mark.parametrize(("rows", "keys"), [(5, 17), (60, 300)])
def test_sums_beside_the_result(rows: int, keys: int, options: dict[str, str | bool], zero_masked: bool) -> None:
    mask = rounded(normal(rows, keys))
    mask[1], mask[2, : keys - 1] = -np.inf, -np.inf
    format = "Float16_b" if "precision" in options else "Float32"
    operands = [rounded(normal(2, n, 16)) for n in (rows, keys, keys)] + [mask]
    attrs = {"scale": 0.25, "zero_masked": zero_masked}
    types = (TensorType((2, rows, 16), format), TensorType((2, rows), "Float32"))
    works = [Work("tile.attention_training", (0, 1, 2, 3), attrs, types), Work("tile.relayout", (5,), {}, (types[1],))]
    found = ran(works, [Given(x, format) for x in operands], **options)  # pyright: ignore[reportArgumentType]
    assert not found.refusals
    with np.errstate(all="ignore"):
        _, expected = kernel("tile.attention_training")(*(x.astype(np.float64) for x in operands), **attrs)
    np.testing.assert_allclose(found.native, expected, rtol=3e-6, atol=3e-6)
    assert (np.isnan(found.native[:, 1]) != zero_masked).all()
