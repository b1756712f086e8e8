"""All structural rules of a netlist, written once, on the plain dataclasses: whatever loads, builds or edits a netlist runs these."""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.numerics import KERNELS
from ttc.dialects.netlist.check_graphs import check_graphs
from ttc.dialects.netlist.check_programs import check_programs
from ttc.dialects.netlist.check_queues import check_queues
from ttc.dialects.netlist.model import Chip, Netlist
from ttc.dialects.netlist.violations import Findings, Violation

MAX_CHIPS = 1024
MAX_LINKS = 1 << 13
MAX_GRID = 64
MAX_TILE = 1024
MAX_ALIGNMENT = 1 << 16
MAX_BYTES = 1 << 48
MAX_NAME = 1024
SHOWN = 5


def check(netlist: Netlist) -> list[Violation]:
    """Every rule that the netlist breaks, in the order queues, graphs, programs; a chip or names that make no sense end the search."""
    found = Findings()
    _check_chip(netlist.chip, found)
    _check_names(netlist, found)
    if found.violations:
        return found.violations
    check_queues(netlist, found)
    check_graphs(netlist, found)
    check_programs(netlist, found)
    return found.violations


def require_valid(netlist: Netlist) -> None:
    """Raise one Error for all broken rules: code, place and hint of the first, the next ones as excerpt."""
    violations = check(netlist)
    if not violations:
        return
    first, *rest = violations
    lines = [f"{v.code} {v.where}: {v.message}" for v in rest[:SHOWN]]
    if len(rest) > SHOWN:
        lines.append(f"and {len(rest) - SHOWN} more")
    raise Error(first.code, first.message, first.where, first.hint, "\n".join(lines) or None)


def _check_chip(chip: Chip, found: Findings) -> None:
    def require(holds: bool, message: str) -> None:
        found.require(holds, "E0609", f"chip '{chip.target[:40]}'", message)

    require(1 <= chip.chips <= MAX_CHIPS, f"{chip.chips} chips")
    require(chip.grid is None or all(1 <= n <= MAX_GRID for n in chip.grid), "its grid has an impossible size")
    require(chip.tile is None or all(1 <= n <= MAX_TILE for n in chip.tile), "its tiles have an impossible size")
    power = chip.alignment_bytes
    require(1 <= power <= MAX_ALIGNMENT and power & (power - 1) == 0, f"alignment {power} is not a power of two")
    sizes = (
        chip.l1_usable_bytes, chip.dst_tiles, chip.dram_channels, chip.dram_channel_bytes, chip.dram_reserved_bytes, chip.max_input_queues,
        chip.host_channels, chip.host_channel_bytes,
    )  # fmt: skip
    require(all(0 <= n <= MAX_BYTES for n in sizes), "a size is negative or impossible")
    joined = [link[:2] for link in chip.links]
    known = all(0 <= a < b < chip.chips and 1 <= count <= MAX_CHIPS for a, b, count in chip.links)
    sound = known and len(set(joined)) == len(joined) <= MAX_LINKS
    require(sound, "its links name a chip that is not there, or two chips twice, or are too many")
    unknown = [name for name in chip.formats if name not in FORMATS]
    require(not unknown, f"there is no data format {unknown[:1]}")
    require(chip.kernels in KERNELS, f"there is no set of kernels '{chip.kernels[:40]}'")


def _check_names(netlist: Netlist, found: Findings) -> None:
    """Names are usable and unique: queues and ops share one space, graphs and programs have their own."""
    _check_keys("queue", netlist.queues, found)
    _check_keys("graph", netlist.graphs, found)
    _check_keys("program", netlist.programs, found)
    taken = dict.fromkeys(netlist.queues, "queue")
    for op in (op for graph in netlist.graphs.values() for op in graph.ops):
        _check_name("op", op.name, found)
        found.require(op.name not in taken, "E0601", f"op '{op.name}'", f"there is another {taken.get(op.name)} of its name")
        taken[op.name] = "op"


def _check_keys(what: str, named: Mapping[str, object], found: Findings) -> None:
    for key, item in named.items():
        _check_name(what, key, found)
        name = getattr(item, "name", None)
        found.require(name == key, "E0601", f"{what} '{key}'", f"it calls itself '{name}'")


def _check_name(what: str, name: str, found: Findings) -> None:
    usable = 0 < len(name) <= MAX_NAME and name.isprintable() and name != "HOST"
    found.require(usable, "E0601", f"{what} {name[:40]!r}", "this is no usable name")
