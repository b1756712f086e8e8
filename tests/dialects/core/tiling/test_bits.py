"""Tiles in memory: sizes, order of faces, headers, exponents, and what devices do to integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.tiling.bits import HEIGHTS, WIDTHS, pack_tiles, unpack_tiles

DEVICE = [name for name, format_ in FORMATS.items() if format_.device]
SIZES = {
    **dict.fromkeys(("Float32", "Int32", "RawUInt32", "Tf32"), (4128, 4160, 4096)),
    **dict.fromkeys(("Float16", "Float16_b", "UInt16", "RawUInt16"), (2080, 2112, 2048)),
    **dict.fromkeys(("Bfp8", "Bfp8_b"), (1120, 1152, 1088)),
    **dict.fromkeys(("Bfp4", "Bfp4_b"), (608, 640, 576)),
    **dict.fromkeys(("Bfp2", "Bfp2_b"), (352, 384, 320)),
    **dict.fromkeys(("Lf8", "Fp8_e4m3", "Int8", "UInt8", "RawUInt8"), (1056, 1088, 1024)),
}


def test_every_format_of_a_device_has_a_size() -> None:
    assert set(SIZES) == set(DEVICE)


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    format_ = FORMATS[name]
    assert (format_.tile_bytes(32, 32, 32), format_.tile_bytes(32, 32, 64), format_.data_bytes(32, 32)) == SIZES[name]
    assert len(pack_tiles(np.zeros((33, 32)), format_)) == 2 * SIZES[name][0]


@pytest.mark.parametrize(
    ("name", "tile", "size"),
    [
        ("Bfp8_b", (16, 32), 576),  # 16 + 32 + 512, then to 32
        ("Bfp8_b", (8, 32), 288),  # 16 + 16 + 256
        ("Bfp8_b", (1, 32), 64),
        ("Bfp8_b", (32, 16), 576),
        ("Bfp4_b", (4, 32), 96),
        ("Float16_b", (1, 32), 96),
        ("Float32", (2, 32), 288),
    ],
)
def test_tiny_tiles(name: str, tile: tuple[int, int], size: int) -> None:
    assert FORMATS[name].tile_bytes(*tile, 32) == size


def numbers(packed: bytes, start: int, count: int, dtype: str) -> list[float]:
    return np.frombuffer(packed, dtype, count, start).tolist()


def test_faces_follow_each_other() -> None:
    packed = pack_tiles(np.arange(1024).reshape(32, 32).astype(np.uint16), FORMATS["UInt16"])
    assert packed[:16] == (2080 // 16).to_bytes(4, "little") + bytes(12)
    assert packed[2064:] == bytes(16)
    for place, (row, column) in enumerate([(0, 0), (0, 16), (16, 0), (16, 16)]):
        start = 16 + place * 512
        assert numbers(packed, start, 16, "<u2") == list(range(row * 32 + column, row * 32 + column + 16))
        assert numbers(packed, start + 32, 1, "<u2") == [(row + 1) * 32 + column]


def test_raw_formats_keep_rows() -> None:
    packed = pack_tiles(np.arange(1024).reshape(32, 32).astype(np.uint32), FORMATS["RawUInt32"])
    assert numbers(packed, 16, 1024, "<u4") == list(range(1024))


def test_tiles_follow_row_by_row_and_are_padded() -> None:
    packed = pack_tiles(np.arange(2 * 33 * 40).reshape(2, 33, 40).astype(np.int32), FORMATS["Int32"], alignment=64)
    assert len(packed) == 2 * 2 * 2 * 4160
    assert [numbers(packed, 4160 * i + 16, 1, "<i4")[0] for i in range(8)] == [0, 32, 1280, 1312, 1320, 1352, 2600, 2632]
    assert numbers(packed, 4160 + 16 + 4 * 8, 8, "<i4") == [0] * 8


def test_exponents_come_before_elements() -> None:
    values = np.zeros((32, 32), np.float32)
    values[0, :2] = 1, -2
    values[1, 16] = 4
    values[31, 31] = 0.5
    packed = pack_tiles(values, FORMATS["Bfp8_b"])
    exponents = packed[16:80]
    assert {i: e for i, e in enumerate(exponents) if e} == {0: 128, 17: 129, 63: 126}
    assert packed[80:82] == bytes([0x20, 0xC0])
    assert packed[80 + 17 * 16] == packed[80 + 1023] == 0x40
    small = pack_tiles(values[:1], FORMATS["Bfp4_b"], (1, 32))
    assert len(small) == 64
    assert list(small[16:34]) == [128, *[0] * 15, 0xC2, 0]


def test_integers_of_sign_and_magnitude() -> None:
    given_ = np.array([[5, -5, -1, -(2**31), 2**31 - 1]], np.int32)
    packed = pack_tiles(given_, FORMATS["Int32"])
    assert numbers(packed, 16, 5, "<u4") == [5, 0x80000005, 0x80000001, 0xFFFFFFFF, 0x7FFFFFFF]
    assert unpack_tiles(packed, (1, 5), FORMATS["Int32"]).tolist() == [[5, -5, -1, -(2**31) + 1, 2**31 - 1]]
    assert pack_tiles(np.array([[5, -5, -128]], np.int8), FORMATS["Int8"])[16:19] == bytes([5, 0x85, 0xFF])


@given(
    st.sampled_from(DEVICE),
    st.tuples(st.sampled_from(HEIGHTS), st.sampled_from(WIDTHS)),
    st.tuples(st.integers(0, 2), st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from([32, 64]),
)
def test_there_and_back(name: str, tile: tuple[int, int], shape: tuple[int, int, int], alignment: int) -> None:
    format_ = FORMATS[name]
    generator = np.random.default_rng(4)
    values = generator.normal(size=shape) if format_.is_float else generator.integers(0, 100, shape)
    held = values.astype(format_.compute)
    packed = pack_tiles(held, format_, tile, alignment)
    found = unpack_tiles(packed, shape, format_, tile, alignment)
    assert found.dtype == format_.compute
    np.testing.assert_array_equal(found, format_.round(held))
    assert pack_tiles(found, format_, tile, alignment) == packed


def test_what_is_no_tile_is_refused() -> None:
    for values, tile in [(np.zeros(4), (32, 32)), (np.zeros((4, 4)), (32, 24)), (np.zeros((4, 4)), (5, 32))]:
        with pytest.raises(Error) as failure:
            pack_tiles(values, FORMATS["Float32"], tile)
        assert failure.value.code == "E0602"
    with pytest.raises(Error) as failure:
        unpack_tiles(bytes(100), (32, 32), FORMATS["Float32"])
    assert failure.value.code == "E0602"
