"""Text to tokens and back, piece by piece, and texts that end one."""

from __future__ import annotations

from pathlib import Path

import pytest

tokenizers = pytest.importorskip("tokenizers", reason="an extra")

from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.generation.tokenizer import StopTexts, TextTokens  # noqa: E402


@pytest.fixture
def words(tmp_path: Path) -> TextTokens:
    """Bytes as tokens 0 to 255, and a special one."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["</s>"])
    made.save(str(tmp_path / "tokenizer.json"))
    return TextTokens(tmp_path / "tokenizer.json")


def test_characters_come_when_they_are_whole(words: TextTokens) -> None:
    text, stream = "naïve \N{SNOWMAN}!", words.stream()
    ids = words.tokens(text)
    pieces = [stream.add(token) for token in [*ids, 256]]
    assert len(ids) == len(text.encode())
    assert "".join(pieces) == text
    assert pieces.count("") == 4  # two for the snowman, one for the letter, and the special token
    assert words.token("</s>") == 256
    assert words.token("nobody") is None


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_texts_are_cut_before_what_ends_them(size: int) -> None:
    text, ends = "one two END. END of it", StopTexts(["END of", "never"])
    shown = "".join(ends.add(text[i : i + size]) for i in range(0, len(text), size) if not ends.stopped)
    assert (shown, ends.stopped) == ("one two END. ", True)


def test_what_only_began_to_end_a_text_is_shown_at_last() -> None:
    ends = StopTexts(["stop"])
    assert (ends.add("abc st"), ends.rest(), ends.stopped) == ("abc ", "st", False)


def test_a_file_that_is_no_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(Error, match="E0102"):
        TextTokens(tmp_path / "tokenizer.json")
    with pytest.raises(Error, match="E0102"):
        TextTokens(tmp_path / "none.json")
