"""Text to tokens and back, by a file of the library `tokenizers`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.inputs.files import require_input


class TextTokens:
    """A tokenizer: texts as tokens, and back.

    Args:    path: of its `tokenizer.json`.
    Raises:  E0102 for a file that is not one, E0104 without the library.
    """

    def __init__(self, path: Path) -> None:
        require_input(path)
        try:
            import tokenizers
        except ImportError:
            raise Error("E0104", "texts need the library tokenizers, which is not installed", hint="pip install 'ttc[text]'") from None
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library has no class of its own for what it raises
            raise Error("E0102", f"{path} is not a tokenizer.json: {str(error)[:200]}") from None
        self._new_stream = tokenizers.decoders.DecodeStream

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, with those that the tokenizer puts around one."""
        return list(self._tokenizer.encode(text).ids)

    def token(self, text: str) -> int | None:
        """Return the token whose whole name the text is, such as `</s>`; None if there is none."""
        return self._tokenizer.token_to_id(text)

    def stream(self) -> TextStream:
        """Return text of tokens that come one after the other."""
        return TextStream(self._tokenizer, self._new_stream(skip_special_tokens=True))


class TextStream:
    """Text as its tokens come: what a token adds, once its characters are whole."""

    def __init__(self, tokenizer: Any, stream: Any) -> None:
        self._tokenizer, self._stream = tokenizer, stream

    def add(self, token: int) -> str:
        """Return what a token adds to the text; nothing while it ends within a character, and for special tokens."""
        return self._stream.step(self._tokenizer, token) or ""


class StopTexts:
    """Cuts a text that comes in pieces before the first of some texts, and keeps back what may turn out to begin one.

    Args:
        texts: that end it.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text for text in texts if text]
        self._held = ""
        self.stopped = False

    def add(self, piece: str) -> str:
        """Return what is certain of the text to be shown; sets `stopped` where it ends."""
        text = self._held + piece
        ends = [place for stop in self._texts if (place := text.find(stop)) >= 0]
        if ends:
            self.stopped, self._held = True, ""
            return text[: min(ends)]
        kept = max((n for stop in self._texts for n in range(1, len(stop)) if text.endswith(stop[:n])), default=0)
        shown, self._held = text[: len(text) - kept], text[len(text) - kept :]
        return shown

    def rest(self) -> str:
        """Return what was kept back, where no more text comes."""
        held, self._held = self._held, ""
        return held
