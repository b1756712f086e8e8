"""Values of variables that the text tells."""

from __future__ import annotations

from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.rules.constants import known_values

TEXT = b"""
programs:
  - p:
    - param: [$p]
    - var: {$a: 3, $b: 4, $c: 5}
    - staticvar: [$d, $e]
    - varinst: [$c, set, $a]
    - varinst: [$x, set, 7]
    - varinst: [$y, set, $p]
    - loop: $a
    - varinst: [$d, inc, $a]
    - varinst: [$b, set, 9]
    - endloop
"""


def test_known_values() -> None:
    assert known_values(read_netlist(TEXT).programs["p"]) == {"$a": 3, "$c": 3, "$e": 0, "$x": 7}
