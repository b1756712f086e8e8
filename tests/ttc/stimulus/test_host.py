"""What the host pushes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.runtime.golden.netlists import flat, queue_of
from ttc.dialects.core.errors import Error
from ttc.dialects.core.tiling.sparse_codes import Codes
from ttc.stimulus.encodings import Fitting, SparseMatrices
from ttc.stimulus.host import HostSource
from ttc.stimulus.rules import Rules, StimulusRule


def test_given_entries_come_first_in_the_format_of_the_queue():
    host = HostSource(Rules(StimulusRule("constant", {"value": 2.0})), given={"a": np.stack([flat(1 + 2.0**-9), flat(5)])})
    queue = queue_of("a", format="Float16_b")
    assert [host(queue, entry)[0, 0, 0] for entry in (0, 1)] == [1, 5]
    with pytest.raises(Error, match="more than the 2 entries") as failure:
        host(queue, 2)
    assert failure.value.code == "E0801"
    assert host(queue_of("b"), 0)[0, 0, 0] == 2


def test_rounding_to_nearest():
    host = HostSource(given={"a": flat(1 + 2.0**-8 + 2.0**-9)[None]}, rounding="rne")
    assert host(queue_of("a", format="Float16_b"), 0)[0, 0, 0] == 1 + 2.0**-7


def test_without_rules_values_keep_their_size():
    host = HostSource(constants={"w": True, "s": True, "e": False})
    weight = queue_of("w", type="ram")
    weight = replace(weight, tensor=replace(weight.tensor, shape=(1, 768, 64)))
    assert host(weight, 0).std() * 768**0.5 == pytest.approx(1, abs=0.02)
    for name in ("s", "e"):
        assert 0 < host(replace(weight, name=name) if name == "e" else queue_of(name), 0).min() < 0.01
    assert host(queue_of("x"), 0).min() < -0.9


def test_row_numbers_lie_in_the_table():
    host = HostSource(fit=Fitting({}, frozenset(), {"i": 5}))
    numbers = host(queue_of("i", format="RawUInt32"), 0)
    assert numbers.dtype == np.uint32
    assert np.unique(numbers).tolist() == [0, 1, 2, 3, 4]
    own = HostSource(Rules(overrides=(("i", StimulusRule("constant", {"value": 9.0})),)), fit=host.fit)
    assert own(queue_of("i", format="RawUInt32"), 0)[0, 0, 0] == 9


def test_sparse_tiles_and_codes():
    codes = Codes(mblock_m=2, u_rt=2, u_kt=2, tile_bits=4, ublock_bits=8)
    host = HostSource(fit=Fitting({"c": SparseMatrices((1, 1), 1, 8, 3, codes)}, frozenset("t"), {}))
    assert host(queue_of("c", format="RawUInt32"), 0).any()
    assert set(np.unique(host(queue_of("t"), 0))) == {0, 1}
    own = HostSource(Rules(overrides=(("t", StimulusRule("constant", {"value": 9.0})),)), fit=host.fit)
    assert own(queue_of("t"), 0)[0, 0, 0] == 9
