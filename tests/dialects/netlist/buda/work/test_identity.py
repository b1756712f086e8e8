"""Sparse products as netlists write them: tiles, codes and copies for each column of cores."""

from __future__ import annotations

import numpy as np

from tests.dialects.netlist.buda.work.meanings import buda, random, result, tensor, tms
from tests.draws import rng_of_test
from ttc.dialects.core.tiling.sparse_codes import Elements, encoded
from ttc.dialects.netlist.buda.form import Tm

S = 32


def sparse(shape: tuple[int, int, int]) -> np.ndarray:
    """Matrices with a few ones."""
    dense = np.zeros(shape, np.float32)
    dense.ravel()[rng_of_test().integers(0, dense.size, 60)] = 1
    return dense


def test_products_on_a_grid_with_a_bias() -> None:
    dense, x, bias = sparse((3, 4 * S, 4 * S)), random(2, 2 * S, 6 * S), random(1, S, 6 * S)
    matrix, row, column = np.nonzero(dense)
    made = encoded(Elements(matrix, row, column, dense[matrix, row, column]), 3, 2, 1, 2, 2)
    across = [Tm("broadcast", ("c", 3))]
    attributes = {
        "identity": True,
        "bias": True,
        "m_k": 2,
        "u_kt": 2,
        "num_sparse_tiles": made.tiles.shape[2] // S,
        "num_index_tiles": made.codes.shape[2] // S,
        "sparse_tile_ptr_bits": made.sizes.tile_bits,
        "sparse_ublock_idx_bits": made.sizes.ublock_bits,
    }
    repeated = [Tm("broadcast", ("r", 4)), Tm("broadcast", ("z", 3))]
    op = buda("matmul", grid=(2, 3), t=3, mblock=(1, 1), ublock=(2, 2), tms=tms(i0=across, i2=across, i3=repeated), attributes=attributes)
    found = result(op, made.tiles, x, made.codes, bias, types=[tensor(made.tiles, "Bfp2_b"), None, tensor(made.codes, "RawUInt32")])
    expected = dense @ x.reshape(4 * S, 6 * S) + bias[:, :1]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
