"""Tiles of AMX: what the emulation computes, and which instructions stand for it."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import rng_of_test
from tests.runtime.engines.native.graphs import emulated_tiles
from ttc.runtime.engines.native.codegen.code import Signature, compiled
from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu, permit_amx
from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="AMX is of x86-64")
NORMAL = 2.0**-126


@dataclass(frozen=True)
class Dot(Kernel):
    """c += a b.  Words: addresses of c, a, b.  signed: whether bytes of a are; None: of bfloat16.  channels: of a and b; None: all."""

    signed: bool | None = None
    channels: int | None = None

    def emit(self, f: Writer) -> None:
        from ttc.runtime.engines.native.ir.tiles import Tiles

        tiles, stride = Tiles(f), f.constant(64, "i64")
        tiles.configure(None if self.channels is None else f.constant(self.channels, "i64"), (4, 5), (6, 7))
        tiles.zero(3)
        for tile, word in ((3, 0), (4, 1), (7, 2)):
            tiles.load(tile, f.pointer(word), stride)
        if self.signed is None:
            tiles.dot(3, 4, 7)
        else:
            tiles.dot_bytes(3, 4, 7, signed=self.signed)
        tiles.store(3, f.pointer(0), stride)
        tiles.release()


def emulated(
    c: NDArray[np.float32], a: NDArray[np.uint16], b: NDArray[np.uint16], channels: int | None = None, cpu: Cpu | None = None
) -> NDArray[np.float32]:
    """a[16, 32], b[16, 16, 2] as patterns.  cpu: one with tiles of its own."""
    found, kernel = c.copy(), Dot(channels=channels)
    words = np.array([x.ctypes.data for x in (found, a, b)], np.int64)
    code = compiled([kernel], cpu or emulated_tiles())
    Signature(code.address(kernel))(ctypes.c_void_p(words.ctypes.data), 0, 1, None)
    return found


def flushed(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rounded to float32, denormals as zeros."""
    with np.errstate(over="ignore"):
        narrow = np.asarray(x).astype(np.float32)
    return np.where(np.abs(narrow) < np.float32(NORMAL), np.copysign(np.float32(0), narrow), narrow)


def expected(c: NDArray[np.float32], a: NDArray[np.uint16], b: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Sums of even and of odd channels, each step rounded once; float64 holds products of bfloat16 and such sums exactly enough."""
    left = flushed((a.astype(np.uint32) << 16).view(np.float32).astype(np.float64)).astype(np.float64)
    right = flushed((b.astype(np.uint32) << 16).view(np.float32).astype(np.float64)).astype(np.float64)
    even, odd = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    for k in range(16):
        even = flushed(left[:, 2 * k, None] * right[k, :, 0] + even.astype(np.float64))
        odd = flushed(left[:, 2 * k + 1, None] * right[k, :, 1] + odd.astype(np.float64))
    return flushed(flushed(c.astype(np.float64)).astype(np.float64) + flushed(even.astype(np.float64) + odd))


def patterns(*shape: int, exponent: int = 127) -> NDArray[np.uint16]:
    """bfloat16 of a few exponents."""
    rng = rng_of_test()
    exponents = rng.integers(exponent - 3, exponent + 3, shape)
    return (exponents << 7 | rng.integers(0, 128, shape) | rng.integers(0, 2, shape) << 15).astype(np.uint16)


@pytest.mark.parametrize("exponents", [(127, 127), (64, 61), (3, 127), (0 + 3, 200), (250, 120)])
def test_products_are_those_of_the_instruction(exponents: tuple[int, int], rng: np.random.Generator) -> None:
    a, b = patterns(16, 32, exponent=exponents[0]), patterns(16, 16, 2, exponent=exponents[1])
    c = np.zeros((16, 16), np.float32) if exponents[0] < 100 else rng.standard_normal((16, 16)).astype(np.float32)
    np.testing.assert_array_equal(emulated(c, a, b), expected(c, a, b))


def test_denormals_are_zero_both_ways() -> None:
    a, b = np.zeros((16, 32), np.uint16), np.zeros((16, 16, 2), np.uint16)
    a[0, 0], b[0, :, 0] = 0x0001, 0x7F00  # a denormal times 2^127
    a[1, 0] = 0x3F80
    b[0, 3, 0] = 0x8040  # 1 times a denormal
    c = np.full((16, 16), 1e-40, np.float32)
    found = emulated(c, a, b)
    assert (found[0] == 0).all()
    assert found[1, 3] == 0
    assert found[1, 0] == 2.0**127
    assert (found[2:] == 0).all()


def test_infinities_and_nan_go_through() -> None:
    a, b = patterns(16, 32), patterns(16, 16, 2)
    a[2, 5], a[3, 4] = 0x7F80, 0x7FC0
    found = emulated(np.zeros((16, 16), np.float32), a, b)
    assert np.isinf(found[2]).all()
    assert np.isnan(found[3]).all()
    assert np.isfinite(np.delete(found, (2, 3), 0)).all()


@pytest.mark.parametrize("channels", [2, 16, 30, 32])
def test_channels_beyond_those_that_are_asked_for_are_not_multiplied(channels: int) -> None:
    a, b = patterns(16, 32), patterns(16, 16, 2)
    few, zeros = a.copy(), np.zeros((16, 16), np.float32)
    few[:, channels:] = 0
    a[:, channels:] = 0x7FC0
    b[channels // 2 :] = 0x7F80
    clean = b.copy()
    clean[channels // 2 :] = 0
    whole = expected(zeros, few, clean)
    np.testing.assert_array_equal(emulated(zeros, a, b, channels), whole)
    if host_cpu().has("amx-bf16") and permit_amx():
        np.testing.assert_array_equal(emulated(zeros, a, b, channels, host_cpu()), whole)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("extreme", [True, False])
def test_products_of_bytes_are_exact_and_wrap(signed: bool, extreme: bool, rng: np.random.Generator) -> None:
    left = np.int8 if signed else np.uint8
    a, b = rng.integers(np.iinfo(left).min, np.iinfo(left).max + 1, (16, 64)), rng.integers(-128, 128, (16, 16, 4))
    if extreme:
        a[:], b[:] = np.iinfo(left).max, -128
    c = np.full((16, 16), -(2**31) + 5, np.int32) if extreme else rng.integers(-(2**31), 2**31, (16, 16)).astype(np.int32)
    kernel, found = Dot(signed), c.copy()
    operands = [found, a.astype(left), b.astype(np.int8)]
    words = np.array([x.ctypes.data for x in operands], np.int64)
    code = compiled([kernel], emulated_tiles())
    Signature(code.address(kernel))(ctypes.c_void_p(words.ctypes.data), 0, 1, None)
    sums = c.astype(np.int64) + a @ b.transpose(0, 2, 1).reshape(64, 16)
    np.testing.assert_array_equal(found, sums.astype(np.int32))


@pytest.mark.parametrize(("signed", "product"), [(None, "tdpbf16ps"), (True, "tdpbssd"), (False, "tdpbusd")])
def test_each_method_is_one_instruction(signed: bool | None, product: str) -> None:
    from ttc.runtime.engines.native.codegen.machine_code import assembly

    cpu = Cpu("x86-64", host_cpu().features | {"amx-tile", "amx-bf16", "amx-int8"})
    text = assembly(Dot(signed).llvm_ir(cpu), cpu)
    found = re.findall(r"^\s+(ldtilecfg|tile\w+|tdp\w+)\s*([^#\n]*)", text, re.MULTILINE)
    names = [name for name, _ in found]
    assert names == ["ldtilecfg", "tilezero", "tileloadd", "tileloadd", "tileloadd", product, "tilestored", "tilerelease"]
    assert found[5][1].strip() == "%tmm7, %tmm4, %tmm3"
