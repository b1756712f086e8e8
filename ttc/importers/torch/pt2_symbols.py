"""Symbolic expressions of a `.pt2` archive: a small grammar, checked before PyTorch hands them to sympy, which evaluates text."""

from __future__ import annotations

import ast
import re

from ttc.dialects.core.errors import Error

MAX_LENGTH = 4096
MAX_DIGITS = 19
SYMBOL = re.compile(r"[a-z]{1,4}[0-9]{1,6}")
FUNCTIONS = frozenset(
    (
        *("Add", "Mul", "Rational", "Integer", "FloorDiv", "CeilDiv", "CleanDiv", "Mod", "PythonMod", "ModularIndexing", "Max", "Min"),
        *("IntTrueDiv", "FloatTrueDiv", "ToFloat", "TruncToInt", "CeilToInt", "FloorToInt", "RoundToInt", "Where", "ceiling", "floor"),
        *("Equality", "Unequality", "StrictLessThan", "LessThan", "StrictGreaterThan", "GreaterThan", "And", "Or", "Not", "Abs"),
        *("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Identity"),
    )
)
_ASSUMPTIONS = frozenset(("integer", "positive", "nonnegative", "negative", "nonzero", "real", "commutative", "finite", "even"))
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.UAdd, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MAX_EXPONENT = 8


def check_expression(text: str) -> None:
    """Raises E0203 unless the text is arithmetic of symbols, whole numbers and the functions that sizes need.

    Sympy writes it with operators (`2*s0 + 1`), or as the calls that make it (`Add(Mul(Integer(2), Symbol('s0', integer=True)), ...)`).
    """
    fits = False
    if len(text) <= MAX_LENGTH and text.isascii():
        try:
            fits = _allowed(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            fits = False
    if not fits:
        raise Error("E0203", f"'{text[:80]}' is no expression of sizes")


def check_symbol(name: str) -> None:
    """Raises E0203 unless the text is a symbol as PyTorch names them."""
    if SYMBOL.fullmatch(name) is None:
        raise Error("E0203", f"'{name[:80]}' is no symbol of a size")


def _allowed(node: ast.expr) -> bool:
    match node:
        case ast.Name():
            return SYMBOL.fullmatch(node.id) is not None
        case ast.Constant():
            return type(node.value) in (int, float, bool) and len(repr(node.value)) <= MAX_DIGITS
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            flags = all(k.arg in _ASSUMPTIONS and isinstance(k.value, ast.Constant) and type(k.value.value) is bool for k in node.keywords)
            return SYMBOL.fullmatch(name) is not None and flags
        case ast.Call(func=ast.Name(id="Pow"), args=[base, exponent]):
            return not node.keywords and _is_power(base, exponent)
        case ast.Call(func=ast.Name(id=name)):
            return name in FUNCTIONS and not node.keywords and all(_allowed(a) for a in node.args)
        case ast.BinOp(op=ast.Pow()):
            return _is_power(node.left, node.right)
        case ast.BinOp(op=operator):
            return isinstance(operator, (*_OPERATORS, ast.BitAnd, ast.BitOr)) and _allowed(node.left) and _allowed(node.right)
        case ast.UnaryOp(op=operator):
            return isinstance(operator, (*_OPERATORS, ast.Invert)) and _allowed(node.operand)
        case ast.Compare():
            return all(isinstance(o, _OPERATORS) for o in node.ops) and all(_allowed(x) for x in (node.left, *node.comparators))
        case _:
            return False


def _is_power(base: ast.expr, exponent: ast.expr) -> bool:
    """Return a small power of a symbol; -1 divides."""
    match exponent:
        case ast.Call(func=ast.Name(id="Integer"), args=[inner]):
            exponent = inner
        case _:
            pass
    match exponent:
        case ast.Constant(value=int(number)):
            pass
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            pass
        case _:
            return False
    symbol = isinstance(base, ast.Name) or (isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "Symbol")
    return number <= MAX_EXPONENT and symbol and _allowed(base)
