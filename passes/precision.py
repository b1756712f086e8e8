"""What rules of precision see of an op, and the formats that they give to values at the borders of tile ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS, format_named
from ttc.dialects.core.ir.adapter import TtcOp, set_type
from ttc.dialects.core.ir.attributes import LiteralAttr, plain
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, ParamOp
from ttc.dialects.core.ir.locations import source_names, where
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule, settle, width
from ttc.dialects.tile.attention import AttentionOp
from ttc.dialects.tile.base import TileOp, TileType, tile_type
from ttc.dialects.tile.eltwise import CastOp, EltwiseOp, MapOp
from ttc.dialects.tile.reduce import ReduceOp
from ttc.dialects.tile.shape import ViewOp

Allow = Callable[[Operation], bool]


class Note(NamedTuple):
    """What was decided at an op: `applied` or `missed`, and the rule behind it."""

    op: Operation
    applied: bool
    message: str
    rule: PrecisionRule


@record(frozen=False)
class Assignment:
    """The formats of values that rules give one, and of views on them; notes, in order; and `matched`: the rules that are about some op."""

    formats: dict[SSAValue, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    matched: set[PrecisionRule] = field(default_factory=set)


def kinds(op: Operation) -> tuple[str, ...]:
    """Return what rules may call an op: its mnemonic; the function of a map or reduction; `map` and the functions of a fused region."""
    mnemonic = op.name.partition(".")[2]
    match op:
        case MapOp():
            return mnemonic, str(op.plain_attrs()["fn"])
        case ReduceOp():
            return mnemonic, f"{mnemonic}_{op.plain_attrs()['fn']}"
        case EltwiseOp():
            return mnemonic, "map", *(str(inner.plain_attrs()["fn"]) for inner in op.body.block.ops if isinstance(inner, MapOp))
        case _:
            return (mnemonic,)


def chosen(op: Operation, rules: Sequence[PrecisionRule]) -> dict[str, tuple[str, PrecisionRule]]:
    """Return the settings that rules make for an op, each with the rule that makes it."""
    return settle(rules, kinds(op), source_names(op.location))


def computing(function: func.FuncOp) -> Iterator[TileOp]:
    """Yield the tile ops that rules are about: not views, which hold their operand's format."""
    for op in function.body.block.ops:
        if isinstance(op, TileOp) and not isinstance(op, ViewOp):
            yield op


def assign(module: ModuleOp, rules: Sequence[PrecisionRule], allow: Allow = lambda op: True) -> Assignment:
    """Return the formats that rules give to results and weights.

    A weight has one format: the widest that its readers ask for.  Args: allow: asked before each op that a rule changes.
    Raises: E0503 for a block format that would erase what stands beside the -inf of a mask.
    """
    found = Assignment()
    wanted = _Weights()
    for function in entry_functions(module):
        guard = Guard.of(function)
        for op in computing(function):
            found.matched.update(rule for rule in rules if rule.matches(kinds(op), source_names(op.location)))
            settings = {key: value for key, value in chosen(op, rules).items() if key not in PrecisionRule.COMPUTED}
            if settings and not allow(op):
                settings = {}
            if "output" in settings:
                _assign_results(op, *settings["output"], guard, found)
            wanted.add(op, settings.get("weights"))
    wanted.settle(found)
    for function in entry_functions(module):
        for op in function.body.block.ops:
            if isinstance(op, ViewOp) and op.x in found.formats:
                found.formats[op.y] = found.formats[op.x]
    return found


def retype(module: ModuleOp, formats: dict[SSAValue, str]) -> None:
    """Give values their formats; regions and functions follow."""
    for value, format_ in formats.items():
        _set_format(value, format_)
    for function in entry_functions(module):
        follow_types(function)


def follow_types(function: func.FuncOp) -> None:
    """Give the arguments of fused regions the types of what is passed to them, and the function those of its arguments and results."""
    block = function.body.block
    for op in block.ops:
        if isinstance(op, EltwiseOp):
            for argument, x in zip(op.body.block.args, op.xs, strict=True):
                set_type(argument, x.type)
    results = [v.type for v in block.last_op.operands] if block.last_op is not None else []
    function.function_type = FunctionType.from_lists([a.type for a in block.args], results)


def _set_format(value: SSAValue, format_: str) -> None:
    if isinstance(value.type, TileType) and value.type.data.format != format_:
        set_type(value, tile_type(value.type.data.with_(format=format_)))


def _format(value: SSAValue) -> str | None:
    """Return the format of a tile; None for what is none."""
    return value.type.data.format if isinstance(value.type, TileType) else None


def _is_float(value: SSAValue) -> bool:
    name = _format(value)
    return name is not None and FORMATS[name].is_float


# ---- results ---------------------------------------------------------------------------------------------------------------------


_SOFTMAXES = frozenset({"tile.softmax", "tile.log_softmax"})
_TRAINING, _GRADIENT = "tile.attention_training", "tile.attention_gradient"
_SUMS = 4
"""The number of the operand of attention's gradient that holds logarithms of sums."""


def mask_of(op: TileOp) -> SSAValue | None:
    """Return the mask of an attention, in training too, or of its gradient; None for other ops and where there is none."""
    return op.named_operands()[-1] if isinstance(op, AttentionOp) or op.name in (_TRAINING, _GRADIENT) else None


@record
class Guard:
    """The values that a block format would spoil, where -inf or a number near it erases the 15 numbers that share its exponent; and sums.

    Args:
        masks: of attentions.  scores: operands of softmaxes.
        sums: logarithms of sums of scores, whose errors are those of all probabilities of a row: no other format holds them.
    """

    masks: set[SSAValue]
    scores: set[SSAValue]
    sums: set[SSAValue]

    @staticmethod
    def of(function: func.FuncOp) -> Guard:
        """Return masks of attentions, operands of softmaxes, and sums, with what they are computed from by elementwise ops and views."""
        ops = list(function.body.block.ops)
        masks = [mask for op in ops if isinstance(op, TileOp) and (mask := mask_of(op)) is not None]
        sums = [op.results[1] for op in ops if op.name == _TRAINING] + [op.operands[_SUMS] for op in ops if op.name == _GRADIENT]
        return Guard(_behind(masks), _behind([op.operands[0] for op in ops if op.name in _SOFTMAXES]), _behind(sums))

    def refuses(self, value: SSAValue, format_: str, rule: PrecisionRule) -> str | None:
        """Return what the format would spoil, where a rule of a level of mixed precision is passed over.

        Raises: E0503 where a rule of a file spoils a mask.
        """
        if not format_named(format_).is_block or value not in self.masks | self.scores:
            return None
        what = "a mask" if value in self.masks else "scores of a softmax"
        if rule.preset or value in self.scores - self.masks:
            return what if rule.preset else None
        place = where(value.owner) if isinstance(value.owner, Operation) else None
        message = f"{what} cannot be stored in {format_} (rule '{rule.text}'): its lowest number would erase those that share its exponent"
        raise Error("E0503", message, where=place, hint='let a later rule give it output = "Float16_b"')


def _behind(values: Iterable[SSAValue]) -> set[SSAValue]:
    """Values, and those that they are computed from by elementwise ops and views."""
    found: set[SSAValue] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting.extend(value.owner.operands if isinstance(value.owner, MapOp | CastOp | EltwiseOp | ViewOp) else ())
    return found


def _assign_results(op: TileOp, format_: str, rule: PrecisionRule, guard: Guard, found: Assignment) -> None:
    for value in op.results:
        if not _is_float(value) or value in guard.sums:
            continue
        refusal = guard.refuses(value, format_, rule)
        if refusal is not None:
            found.notes.append(Note(op, False, f"stays in {_format(value)}: {format_} would spoil {refusal}", rule))
            continue
        found.formats[value] = format_
        risky = format_named(format_).is_block and value in guard.scores
        found.notes.append(Note(op, True, f"stored in {format_}{', though it feeds a softmax' if risky else ''}", rule))


# ---- weights ---------------------------------------------------------------------------------------------------------------------


@record(frozen=False)
class _Weights:
    """Leaves by the weight they hold, and what their readers ask for."""

    leaves: dict[str, list[LeafOp]] = field(default_factory=dict)
    wishes: dict[str, list[tuple[Operation, str, PrecisionRule | None]]] = field(default_factory=dict)

    def add(self, op: TileOp, setting: tuple[str, PrecisionRule] | None) -> None:
        """An op reads its operands; the setting is about those that are weights."""
        weights = set(weights_of(op)) if setting is not None else set()
        for value in op.operands:
            leaf = leaf_of(value)
            if leaf is None or not _is_float(leaf.result):
                continue
            key = leaf.key or str(plain(leaf.properties["sym"]))
            known = self.leaves.setdefault(key, [])
            if leaf not in known:
                known.append(leaf)
            format_, rule = setting if setting is not None and leaf in weights else (_format(leaf.result) or "", None)
            self.wishes.setdefault(key, []).append((op, format_, rule))

    def settle(self, found: Assignment) -> None:
        """Give each weight the widest format that is asked for."""
        for key, wishes in self.wishes.items():
            if all(rule is None for _, _, rule in wishes):
                continue
            widest = max((format_ for _, format_, _ in wishes), key=width)
            found.formats.update((leaf.result, widest) for leaf in self.leaves[key])
            for op, format_, rule in wishes:
                if rule is not None:
                    found.notes.append(_weight_note(op, key, format_, widest, rule))


def _weight_note(op: Operation, key: str, format_: str, widest: str, rule: PrecisionRule) -> Note:
    if format_ == widest:
        return Note(op, True, f"weight '{key}' stored in {format_}", rule)
    return Note(op, False, f"weight '{key}' stays in {widest}, which another reader asks for", rule)


def leaf_of(value: SSAValue) -> LeafOp | None:
    """Return the constant or parameter that a value is, seen through views; None for others and for literals."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.x
    owner = value.owner
    return owner if isinstance(owner, ConstantOp | ParamOp) and not isinstance(owner.value, LiteralAttr) else None


def weights_of(op: TtcOp) -> Iterable[LeafOp]:
    """Return the constant operands of an op, but for its bias and literals."""
    bias = getattr(op, "bias", None)
    found = (leaf_of(value) for value in op.operands if value is not bias)
    return [leaf for leaf in found if leaf is not None]
