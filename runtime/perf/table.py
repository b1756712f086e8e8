"""The figures of one architecture that the cycle model is computed from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

FAMILIES = {
    **dict.fromkeys(("Float32", "Tf32", "Int32", "RawUInt32"), "word"),
    **dict.fromkeys(("Float16", "Float16_b", "UInt16", "RawUInt16"), "half"),
    **dict.fromkeys(("Int8", "UInt8", "RawUInt8"), "int8"),
}
"""Formats by how their timings differ; block formats and floats of 8 bits are `block`."""


def family(format_: str) -> str:
    """Return the family of a format: `word`, `half`, `block` or `int8`."""
    return FAMILIES.get(format_, "block")


@dataclass(frozen=True)
class Figure:
    """One number of the model.

    Args:
        value: in `unit`.
        unit: `cycles`, `cycles/block` (a ublock), `cycles/tile`, `bytes/cycle`, `ratio`.
        origin: `fitted` to timings of silicon, or `published` by the maker.
    """

    value: float
    unit: str
    origin: str


class FigureTable:
    """Figures by name, such as `exp.approx.tile`: an op, its variants, and what is counted."""

    def __init__(self, arch: str, figures: Mapping[str, Figure]) -> None:
        self.arch = arch
        self.figures = dict(figures)
        self._values = {name: figure.value for name, figure in figures.items()}
        self._names: dict[tuple[str, ...], str] = {}

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def best(self, op: str, quantity: str, *variants: str) -> float:
        """Return the figure of an op under the first of its variants that has one, else that of the op, else of a stream of tiles."""
        key = (op, quantity, *variants)
        if key not in self._names:
            names = [*(f"{op}.{variant}.{quantity}" for variant in variants), f"{op}.{quantity}", f"stream.{quantity}"]
            self._names[key] = next(name for name in names if name in self.figures)
        return self[self._names[key]]


def parse_table(raw: dict[str, Any], base: FigureTable | None = None) -> FigureTable:
    """Return a table from its TOML form, on top of another one whose figures it does not repeat."""
    figures = dict(base.figures) if base is not None else {}
    figures.update({name: Figure(float(f["value"]), str(f["unit"]), str(f["origin"])) for name, f in raw.get("figures", {}).items()})
    return FigureTable(str(raw["arch"]), figures)


@cache
def table(arch: str) -> FigureTable:
    """Return the figures of an architecture; of the one that it is `like` where it has none, and of wormhole_b0 where nothing is known of
    it.
    """
    file = resources.files("ttc.runtime.perf") / "data" / "ops" / f"{arch}.toml"
    if not arch.isidentifier() or not file.is_file():
        return table("wormhole_b0")
    raw: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return parse_table(raw, table(raw["like"]) if "like" in raw else None)
