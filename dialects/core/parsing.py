"""IR text into modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Dialect
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from ttc.dialects.core.errors import Error
from ttc.dialects.core.leaves import CORE


def context(dialects: Iterable[Callable[[], Dialect]] = ()) -> Context:
    """A context that parses builtin, func, ttc and the dialects given (as factories)."""
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, CORE):
        ctx.load_dialect(dialect)
    for factory in dialects:
        ctx.load_dialect(factory())
    return ctx


def parse_module(text: str, name: str, dialects: Iterable[Callable[[], Dialect]] = ()) -> builtin.ModuleOp:
    """Parse IR text.  name: of the file, for messages.  Raises E0301."""
    try:
        return Parser(context(dialects), text, name).parse_module()
    except ParseError as error:
        before = text[: error.span.start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise Error("E0301", error.msg, where=f"{name}:{line}:{column}", excerpt=text.splitlines()[line - 1][:160]) from error
    except (VerifyException, ValueError, KeyError, AttributeError, IndexError, OverflowError, TypeError) as error:
        raise Error("E0301", f"{type(error).__name__}: {error}", where=name) from error
    except RecursionError:
        raise Error("E0301", "the IR nests too deeply", where=name) from None
