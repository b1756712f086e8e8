"""The printer of modules: xDSL's, with text as text, and with types and locations that are written out once."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects import builtin
from xdsl.ir import Attribute, TypeAttribute
from xdsl.printer import Printer

from ttc.dialects.core.ir.attributes import value_text


class ModulePrinter(Printer):
    """Prints strings as text: xDSL would write what is not ASCII as escaped bytes, which its parser reads as bytes, not as text."""

    def print_string_literal(self, string: str) -> None:
        self.print_string(value_text(string))

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            print(text, end="", file=self.stream)

    def print_attribute(self, attribute: Attribute) -> None:
        """Types and locations, which come up again and again in one module and the next, from the text they had before."""
        if self.printing_location or not isinstance(attribute, _KEPT):
            super().print_attribute(attribute)
            return
        known = _TEXTS.get(id(attribute))
        if known is None:
            known = attribute, self._attribute_text(attribute)
            if len(known[1]) <= MAX_KEPT_TEXT:
                if len(_TEXTS) >= MAX_KEPT_TEXTS:
                    _TEXTS.clear()
                _TEXTS[id(attribute)] = known
        print(known[1], end="", file=self.stream)

    def _attribute_text(self, attribute: Attribute) -> str:
        outer, inner = self.stream, StringIO()
        self.stream = inner
        try:
            super().print_attribute(attribute)
        finally:
            self.stream = outer
        return inner.getvalue()


_KEPT = (TypeAttribute, builtin.NameLoc, builtin.FusedLoc, builtin.FileLineColLoc, builtin.UnknownLoc)
MAX_KEPT_TEXT, MAX_KEPT_TEXTS = 512, 1 << 16
_TEXTS: dict[int, tuple[Attribute, str]] = {}
"""Attributes by identity (which they keep as long as they are here), with their texts."""
