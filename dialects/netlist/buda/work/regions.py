"""Elementwise works of our compiler: one function of an op, or fused regions of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.buda_functions import FUNCTIONS
from ttc.dialects.core.plain.functions import Plain, TensorType, Work
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.work.building import INTEGERS
from ttc.dialects.netlist.buda.work.families import READS
from ttc.dialects.netlist.buda.work.read_tms import broadcast_to
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Reading
from ttc.dialects.netlist.buda.work.schedule import FPU, FusedInput, FusedResult, FusedStep, scheduled
from ttc.dialects.netlist.buda.work.shared import ImpliedConstant

BINARY = {name: FUNCTIONS[name] for name in ("add", "sub", "mul", "maximum")}
UNARY = {name: "nop" if type_ == "relu" else type_ for name, type_ in FUNCTIONS.items() if name not in BINARY}
"""Functions of one operand: the type that each is.  relu and clip are attributes of a nop."""
ANY = "any"
"""How a value stands that is the same in all of a tile."""


def read_map(work: Reading) -> Parts:
    """Return one function, or a cast: a Buda op of its own unless an operand broadcasts within tiles."""
    region = _Region(work)
    operands = [region.add(value) for value in work.main.operands if value is not None]
    region.result(work.main, operands)
    return region.parts()


def read_eltwise(work: Reading) -> Parts:
    """Read an elementwise region as a fused op."""
    body = work.main.body
    if body is None or len(body.outputs) != 1:
        raise Error("E0609", "an elementwise region lacks its body")
    region = _Region(work)
    values: list[_Value | None] = [region.add(value) for value in work.main.operands if value is not None]
    for inner in body.works:
        if inner.op == "ttc.constant":
            values.append(region.constant(inner))
            continue
        given = [values[i] for i in inner.operands if i is not None]
        values.append(region.result(inner, [v for v in given if v is not None]))
    return region.parts(values[body.outputs[0]])


@record(slots=True)
class _Value:
    """A value of a region: where it is, and what of every tile holds it: all (empty), one row (r), column (c), element (rc), or any."""

    at: FusedInput | FusedResult
    held: str


@record(frozen=False)
class _Region:
    """The steps of a fused op under construction."""

    work: Reading
    operands: list[Operand | ImpliedConstant] = field(default_factory=list)
    steps: list[FusedStep] = field(default_factory=list)
    numbers: dict[float, _Value] = field(default_factory=dict)
    known: dict[int, _Value] = field(default_factory=dict)

    def add(self, value: int) -> _Value:
        """Return an operand of the op: its tiles repeated to the result's, what it holds of each noted."""
        if value not in self.known:
            self.known[value] = self._added(value)
        return self.known[value]

    def _added(self, value: int) -> _Value:
        source, _ = self.work.chain(value)
        if isinstance(source, ImpliedConstant) and source.values.size == 1:
            return self.number(float(source.values.ravel()[0]))
        tms = broadcast_to(self.work.type_of(value), self.work.result)
        inner = next((str(tm.args[0]) for tm in tms if tm.kind == "tile_broadcast"), "")
        self.operands.append(Operand(value, tail=tuple(tm for tm in tms if tm.kind != "tile_broadcast")))
        return _Value(FusedInput(len(self.operands) - 1), inner)

    def constant(self, work: Work) -> _Value:
        """Return a literal inside the region."""
        values = work.attrs.get("values")
        if not isinstance(values, tuple) or len(values) != 1 or not isinstance(values[0], int | float):
            raise Error("E0503", "a fused op of Buda has literals of one number")
        return self.number(float(values[0]))

    def number(self, value: float) -> _Value:
        """Return a tile full of one number, as an input."""
        if value not in self.numbers:
            format_ = "Float32" if self.work.result.format not in INTEGERS else self.work.result.format
            scalar = TensorType((), format_, self.work.result.layout)
            self.operands.append(ImpliedConstant(scalar, np.array(value)))
            self.numbers[value] = _Value(FusedInput(len(self.operands) - 1), ANY)
        return self.numbers[value]

    def result(self, work: Work, operands: list[_Value]) -> _Value:
        """Return a step for one op of the region."""
        if work.op == "tile.cast":
            if work.attrs.get("to") is not None:
                raise Error("E0503", f"Buda has no cast to {work.attrs['to']}")
            return self._step("nop", operands, operands[0].held)
        if work.op != "tile.map":
            raise Error("E0503", f"Buda has no op that is {work.op} in a region")
        fn, attributes = str(work.attrs.get("fn")), _attributes(work)
        if fn in UNARY and len(operands) == 1:
            return self._step(UNARY[fn], operands, operands[0].held, attributes=attributes)
        if fn in BINARY and len(operands) == 2:
            return self._combined(BINARY[fn], *operands)
        raise Error("E0503", f"Buda has no function '{fn}'")

    def parts(self, value: _Value | None = None) -> Parts:
        """Return the op: of the step's own type if there is one that does not broadcast within tiles; else a fused op."""
        if value is not None and value.at != FusedResult(len(self.steps) - 1):
            self._step("nop", [value], value.held)
        (first, *others) = self.steps
        if not others and not first.spread:
            inputs = [o.index for o in first.operands if isinstance(o, FusedInput)]
            return Parts(first.type, tuple(self.operands[i] for i in inputs), dict(first.attributes))
        name = self.work.op.name
        blocking = self.work.op.blocking
        if blocking is None:
            raise Error("E0602", "an op of Buda needs its blocks")
        fused = scheduled(
            name, self.steps, len(self.operands), (blocking.mblock, blocking.ublock), floats=self.work.result.format not in INTEGERS
        )
        return Parts("fused_op", tuple(self.operands), {"fused_op_id": name}, fused)

    def _combined(self, type_: str, a: _Value, b: _Value) -> _Value:
        """Return a function of two values, that which fills less of its tiles broadcast within them."""
        held = _joint(a.held, b.held)
        if _spread(a.held, held) and (type_ not in ("add", "multiply") or _spread(b.held, held)):
            a = self._widened(a, held)
        elif _spread(a.held, held):
            a, b = b, a
        if _spread(b.held, held) and type_ not in FPU:
            b = self._widened(b, held)
        return self._step(type_, [a, b], held, _spread(b.held, held))

    def _widened(self, value: _Value, held: str) -> _Value:
        """Return a value broadcast within tiles: added to zeros."""
        return self._step("add", [self.number(0.0), value], held, _spread(value.held, held))

    def _step(
        self, type_: str, operands: list[_Value], held: str, spread: str = "", attributes: Mapping[str, Plain] | None = None
    ) -> _Value:
        self.steps.append(FusedStep(type_, tuple(v.at for v in operands), spread, attributes or {}))
        return _Value(FusedResult(len(self.steps) - 1), held)


def _joint(a: str, b: str) -> str:
    """Return what of a tile holds a function of two values."""
    if ANY in (a, b):
        return b if a == ANY else a
    return "".join(dim for dim in "rc" if dim in a and dim in b)


def _spread(held: str, wanted: str) -> str:
    """Return how a value is broadcast within tiles to fill as much of them as another does."""
    return "" if held == ANY else "".join(dim for dim in "rc" if dim in held and dim not in wanted)


def _attributes(work: Work) -> dict[str, Plain]:
    """Return what the attributes of a function are in the format.  Raises E0503 for those it lacks."""
    names, values = work.attrs.get("names") or (), work.attrs.get("values") or ()
    if not isinstance(names, tuple) or not isinstance(values, tuple):
        raise Error("E0609", "the attributes of a function are not lists")
    given = dict(zip(map(str, names), values, strict=False))
    fn = work.attrs.get("fn")
    if fn == "leaky_relu":
        return {"slope": given.get("alpha", 0.01)}
    if fn == "gelu" and given.get("approximate") != "tanh":
        raise Error("E0503", "Buda has gelu with tanh, not with erf")
    if fn == "relu":
        return {"relu_en": True, "relu_mode": "min", "relu_threshold": 0.0}
    if fn == "clip":
        high = given.get("max")
        if given.get("min") != 0 or not isinstance(high, int | float) or not 0 < high < float("inf"):
            raise Error("E0503", f"Buda clips from 0 to a positive number, not from {given.get('min')} to {high}")
        return {"relu_en": True, "relu_mode": "max", "relu_threshold": float(high)}
    return {}


READS.add_all({"tile.map": read_map, "tile.cast": read_map, "tile.eltwise": read_eltwise})
