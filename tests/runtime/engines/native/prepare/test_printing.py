"""The plan as text: nodes before they are lowered, then jobs, their order and their memory."""

from __future__ import annotations

import re

from tests.runtime.engines.native.prepare.test_steps import Seen, drafted, joined
from tests.runtime.engines.native.programs import network
from ttc.runtime.engines.base import PrintedPlan


def test_nodes() -> None:
    seen = Seen()
    drafted(joined("native"), seen)
    lines = seen.texts["choose-layouts"].splitlines()
    assert lines[:3] == ["graph 'g'", "nodes:", "  %0 = queue 'x' : Float32[6, 33]"]
    node = "  %5 = tile.matmul(%0, %1) {transpose_a=False, transpose_b=False} then relu : Float32[6, 48]"
    assert f"{node} in place f32[6, 48] by [96, 1]  // h1 + r1; fuse-regions, choose-layouts" in lines
    assert lines[-1] == "  queue 'y' = %7"


def test_a_plan() -> None:
    plan = network("native").plans["g"]
    assert isinstance(plan, PrintedPlan)
    text = plan.text()
    titles = [line for line in text.splitlines() if not line.startswith(" ")]
    assert titles[:3] == ["graph 'g'", "steps:", "jobs on constants, once:"]
    assert titles[3:5] == ["jobs:", "order:"]
    assert re.fullmatch(r"arena of [\d,]+ bytes: offset, size, buffer:", titles[5])
    assert titles[6:] == ["left to Python:"]
    assert "  nn.neg: no lowering  // s" in text
    assert re.search(r"^     0 Gemm_\w{16}  \d+ tasks?  a\d+ f32\[6, 301\] <- 'x' f32\[6, 33\], c\d+ ", text, re.MULTILINE)
    assert re.search(r"^       python nn.neg  a\d+ f32\[6, 301\] <- a\d+ f32\[6, 301\]  // s$", text, re.MULTILINE)
    assert re.search(r", then nn.neg in Python$", text, re.MULTILINE)
