"""The parser of IR text, which makes modules of our dialects."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Literal, NoReturn, TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.leaves import CORE


class _Lexer(MLIRLexer):
    """With a pattern of strings that does not backtrack: xDSL's takes 2^n steps for one of n characters that does not end.

    A string with escapes is text whatever its characters are; xDSL takes it for bytes unless all are ASCII.
    """

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        token = super()._lex_string_literal(start_pos)
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return token
        try:
            MLIRTokenKind.STRING_LIT.get_string_literal_value(token.span)
        except UnicodeDecodeError:
            return token
        return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)


AttributeT = TypeVar("AttributeT", bound=Attribute)
Locate: TypeAlias = Literal["none", "missing", "all"]
"""Which ops get the line of text they stand in as location: none, those without one, or all of them."""


MAX_DIMENSIONS_TEXT = 1024
"""Characters of a shape up to a `?`, far more than any tensor's has: for each dimension xDSL reads the rest of them anew."""


class _Parser(Parser):
    """Reads IR whose integer types have at most 64 bits, which is all we have: xDSL computes the range of any width.

    Attributes `dense<...>` are refused: their few characters stand for tensors of any size, which xDSL makes at once.
    """

    _builtin_integer_type_regex = re.compile(r"^[su]?i([1-9]|[1-5][0-9]|6[0-4])$")

    def __init__(self, ctx: Context, text: str, name: str, locate: Locate) -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        self._name = name
        self._locate = locate
        self._awaited: dict[str, Span] = {}
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))] if locate != "none" else []

    def _parse_builtin_dense_attr(self) -> NoReturn:
        self.raise_error("dense<...> is no attribute here: tensors are #ttc.literal<[...], type> or #ttc.weight<key, type>")

    def _parse_optional_shape_delimiter(self) -> str | None:
        if len(self._current_token.text) > MAX_DIMENSIONS_TEXT:
            self.raise_error("a shape has too many dimensions")
        return super()._parse_optional_shape_delimiter()

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeT) -> SSAValue[AttributeT]:
        """Remembers where a value was first used that is not defined yet."""
        if operand.operand_name not in self.ssa_values:
            self._awaited.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def parse_module(self, allow_implicit_module: bool = True) -> builtin.ModuleOp:
        """Parse a module; of values that are nowhere defined, the error names the first, where it is used."""
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            name = next(iter(self.forward_ssa_references), None)
            if name is None or name not in self._awaited or not error.msg.startswith("values used but not defined"):
                raise
            raise ParseError(self._awaited[name], f"%{name} is used but nowhere defined") from error

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        if self._locate == "all" or (self._locate == "missing" and isinstance(op.location, builtin.UnknownLoc)):
            line = bisect_right(self._starts, start)
            place = builtin.IntAttr(line), builtin.IntAttr(start - self._starts[line - 1] + 1)
            op.location = builtin.FileLineColLoc(builtin.StringAttr(self._name), *place)
        return op


def context(dialects: Iterable[Callable[[], Dialect]] = ()) -> Context:
    """Return a context that parses builtin, func, ttc and the dialects given (as factories)."""
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, CORE):
        ctx.load_dialect(dialect)
    for factory in dialects:
        ctx.load_dialect(factory())
    return ctx


def parse_module(text: str, name: str, dialects: Iterable[Callable[[], Dialect]] = (), *, locate: Locate = "none") -> builtin.ModuleOp:
    """Parse IR text.  name: of the file, for messages and locations.  Raises E0301."""
    try:
        return _Parser(context(dialects), text, name, locate).parse_module()
    except ParseError as error:
        before = text[: error.span.start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise Error("E0301", error.msg, where=f"{name}:{line}:{column}", excerpt=text.split("\n")[line - 1][:160]) from error
    except (VerifyException, ValueError, KeyError, AttributeError, IndexError, OverflowError, TypeError, NotImplementedError) as error:
        raise Error("E0301", f"{type(error).__name__}: {error}", where=name) from error
    except RecursionError:
        raise Error("E0301", "the IR nests too deeply", where=name) from None
