"""The pass that looks words up in a text input as a whole, not in parts of it: all that follows is numbers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects import func
from xdsl.ir import SSAValue

from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.index import GatherOp
from ttc.dialects.nn.pieces import SliceOp, SplitOp
from ttc.dialects.nn.shape import ReshapeOp, TransposeOp
from ttc.dialects.nn.text import MAX_WORDS, StringIndexOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.making import RewriteMaker
from ttc.passes.nn.match import rebuilt, users

MOVING = (GatherOp, ReshapeOp, SliceOp, SplitOp, TransposeOp)
"""Ops that move elements of their first operand, and do nothing else to them."""


@record
class LookUpWhole(Pass):
    """Look words up in a text input once, where all that is made of its parts are places in lists of words.

    The list is that of all lists together; a table gives the place in the list that a part was looked up in.

    Before:
        (%x: tensor<2x2x!ttc.string>)
        %0 = nn.slice(%x) {sizes = [2, 1], starts = [0, 0], steps = [1, 1]} : (tensor<2x2x!ttc.string>) -> tensor<2x1x!ttc.string>
        %1 = nn.slice(%x) {sizes = [2, 1], starts = [0, 1], steps = [1, 1]} : (tensor<2x2x!ttc.string>) -> tensor<2x1x!ttc.string>
        %2 = nn.string_index(%0) {words = ["a", "b"]} : (tensor<2x1x!ttc.string>) -> tensor<2x1xi64>
        %3 = nn.string_index(%1) {words = ["b"]} : (tensor<2x1x!ttc.string>) -> tensor<2x1xi64>
        return %2, %3 : tensor<2x1xi64>, tensor<2x1xi64>
    After:
        (%x: tensor<2x2x!ttc.string>)
        %i = nn.string_index(%x) {words = ["a", "b"]} : (tensor<2x2x!ttc.string>) -> tensor<2x2xi64>
        %0 = nn.slice(%i) {sizes = [2, 1], starts = [0, 0], steps = [1, 1]} : (tensor<2x2xi64>) -> tensor<2x1xi64>
        %1 = nn.slice(%i) {sizes = [2, 1], starts = [0, 1], steps = [1, 1]} : (tensor<2x2xi64>) -> tensor<2x1xi64>
        %t = ttc.constant() {value = #ttc.literal<[1, 0, 1], tensor<3xi64>>} : () -> tensor<3xi64>
        %3 = nn.gather(%t, %1) {axis = 0} : (tensor<3xi64>, tensor<2x1xi64>) -> tensor<2x1xi64>
        return %0, %3 : tensor<2x1xi64>, tensor<2x1xi64>
    Missed:
        something else reads the text; the lists together are too long; nothing lies between the input and what looks it up.
    """

    name: ClassVar[str] = "look-up-whole"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            for argument in function.body.block.args:
                if spec_of(argument.type).dtype == STRING:
                    _look_up(argument, function, unit, rewriter)


def _look_up(text: SSAValue, function: func.FuncOp, unit: Unit, rewriter: Rewriter) -> None:
    found: list[StringIndexOp] = []
    first = function.body.block.first_op
    if first is None or not _only_looked_up(text, found) or not found or all(op.operands[0] is text for op in found):
        return
    places_of = {op: place for place, op in enumerate(function.body.block.ops)}
    found.sort(key=places_of.__getitem__)
    words = tuple(dict.fromkeys(word for op in found for word in op.plain_attrs()["words"]))
    if len(words) > MAX_WORDS:
        rewriter.missed(found[0], f"{len(words)} words are too many to be looked up at once")
    elif rewriter.allow("look-up-whole", found[0]):
        places = rewriter.insert(first, StringIndexOp.build(text, location=rewriter.location(found), words=words)).results[0]
        rewriter.applied(found[0], f"{len(found)} lookups of words are one")
        _move(text, places, words, unit, rewriter)


def _only_looked_up(text: SSAValue, found: list[StringIndexOp]) -> bool:
    """Return whether all that reads a text are lookups, which are added to `found`, and ops that move it."""
    for user in users(text):
        if isinstance(user, StringIndexOp):
            found.append(user)
        elif not isinstance(user, MOVING) or user.operands[0] is not text or not all(_only_looked_up(v, found) for v in user.results):
            return False
    return True


def _move(text: SSAValue, places: SSAValue, words: tuple[str, ...], unit: Unit, rewriter: Rewriter) -> None:
    """Do to places what is done to the text, and put the results where lookups are."""
    for user in list(dict.fromkeys(users(text))):
        if isinstance(user, StringIndexOp):
            if user is not places.owner:
                rewriter.replace(user, _own(user, places, words, unit, rewriter))
        elif isinstance(user, NNOp):
            moved = rebuilt(rewriter, user, user, [places, *user.named_operands()[1:]], (user,))
            for before, after in zip(user.results, moved.results, strict=True):
                _move(before, after, words, unit, rewriter)
            rewriter.erase_dead(user)


def _own(op: StringIndexOp, places: SSAValue, words: tuple[str, ...], unit: Unit, rewriter: Rewriter) -> SSAValue:
    """Return places in the list of an op, given those in the list of all."""
    own = op.plain_attrs()["words"]
    if own == words:
        return places
    known = {word: place for place, word in reversed(list(enumerate(own)))}
    table = RewriteMaker(op, unit, rewriter).constant([*(known.get(word, len(own)) for word in words), len(own)], np.dtype(np.int64))
    return rewriter.build(op, GatherOp, table, places, axis=0).results[0]
