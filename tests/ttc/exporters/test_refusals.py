"""Ops that cannot be exported are named all at once."""

from __future__ import annotations

import pytest

from ttc.dialects.core.plain.functions import Work
from ttc.exporters.refusals import RefusedOp, RefusedOps, require_none


def test_nothing_refused_is_no_error() -> None:
    require_none("TT-NN", [])


def test_all_are_named() -> None:
    rows = [RefusedOp.of(Work("nn.lu", (), {}, (), location=(f"node_{index}",)), "no kernel") for index in range(10)]
    with pytest.raises(RefusedOps, match=r"TT-NN has no form of 10 ops: nn.lu \(node_0\): no kernel; .* and 2 more") as caught:
        require_none("TT-NN", rows)
    assert caught.value.code == "E0503"
    assert caught.value.rows == tuple(rows)
