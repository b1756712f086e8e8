"""What the host puts into queues: whole tiles, diagonals, streams of indices."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import numpy as np

from ttc.exporters.buda.export import export
from ttc.exporters.buda.values import NO_INDEX, bundle_of, entries, held_values, tensors_of


def test_rams_of_the_host(compiled: Callable) -> None:
    program, _ = compiled("image", target="n150", format="Float16_b")
    exported = export(program.netlist)
    held = held_values(exported, program.netlist, tensors_of(program))
    rams = {n: q for n, q in exported.form.queues.items() if q.input == "HOST" and q.type == "ram"}
    assert held.keys() == rams.keys()
    for name, queue in rams.items():
        grid, mblock, ublock = queue.grid_size or (0, 0), queue.mblock or (0, 0), queue.ublock or (0, 0)
        rows, columns = (g * m * u * 32 for g, m, u in zip(grid, mblock, ublock, strict=True))
        assert held[name].shape == (1, queue.t, rows, columns), name
    (diagonals,) = (copy for copy in exported.fillings.copies.values() if copy.manner == "diagonals")
    (name,) = (n for n, copy in exported.fillings.copies.items() if copy == diagonals)
    tiles = held[name][0, 0, :32, :32]
    assert np.count_nonzero(tiles - np.diag(np.diag(tiles))) == 0


def test_bundle(compiled: Callable) -> None:
    program, _ = compiled("image", target="n150", format="Float16_b")
    exported = export(program.netlist)
    with np.load(BytesIO(bundle_of(exported, program)), allow_pickle=False) as bundle:
        assert set(bundle) == set(held_values(exported, program.netlist, tensors_of(program)))


def test_indices_are_streams(compiled: Callable) -> None:
    program, inputs = compiled("sentence", target="n150", format="Float16_b")
    exported = export(program.netlist)
    (name, count), *_ = exported.fillings.indices.items()
    found = entries(name, exported, program.netlist, [inputs["ids"]])[0, 0]
    flat = found.reshape(-1, 32, 32)[:, : -(-count // 32)].reshape(len(found) // 32, -1)[:, :count].ravel()
    np.testing.assert_array_equal(flat[:40], inputs["ids"].ravel())
    assert set(flat[40:].tolist()) <= {NO_INDEX}
