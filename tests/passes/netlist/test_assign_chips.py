"""Programs over several chips."""

from tests.passes.module_pairs import check_pair
from ttc.passes.netlist.assign_chips import AssignChips


def test_docstring() -> None:
    check_pair(AssignChips((0, 1)), "n300")
