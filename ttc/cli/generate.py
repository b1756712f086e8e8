"""The command `ttc generate`: goes on with a text, token by token."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, PRECOMPILED, flags_of, options_from, verbosity
from ttc.cli.run import limit_threads
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.shown import shown_lines
from ttc.settings.generate_options import GenerateOptions

if TYPE_CHECKING:
    from ttc.generation.generator import Generator
    from ttc.generation.tokenizer import TextTokens


@record(frozen=False)
class Shown:
    """The result of a generation: tokens, text, seconds to the first token and to the last, why it ended."""

    tokens: list[int]
    text: str = ""
    first_seconds: float = 0.0
    seconds: float = 0.0
    ended: str = "length"


@click.command("generate")
@click.argument("archive", type=FILE)
@click.option("--tokenizer", type=FILE, metavar="tokenizer.json", help="Of the library tokenizers: turns text into tokens and back.")
@click.option("--prompt", metavar="TEXT", help="Text to go on with; - reads it from standard input.")
@click.option("--tokens", metavar="N,N,...", help="Tokens to go on with, where there is no tokenizer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only, at the end.")
@PRECOMPILED
@flags_of(GenerateOptions)
@verbosity
@click.pass_obj
def command(
    console: Console,
    archive: Path,
    tokenizer: Path | None,
    prompt: str | None,
    tokens: str | None,
    config: Path | None,
    as_json: bool,
    precompiled: Path | None,
    **raw: Any,
) -> int:
    """Go on with a text, with the model in ARCHIVE (.tti), which ttc.generator has written."""
    from ttc.inputs.files import require_input

    options = options_from(GenerateOptions, raw, config)
    require_input(archive)
    text = _tokenizer(tokenizer, prompt, tokens)
    ids = _numbers(str(tokens), "--tokens") if text is None else text.tokens(_prompt(str(prompt)))
    limit_threads(options.threads)
    from ttc.generation.generator import Generator
    from ttc.loading import load

    with console.progress() as progress:
        progress.show(f"loading {archive.name}")
        executor = load(archive, options.threads, precompiled=precompiled, on_compile=progress.compiling, engine=options.engine)
    with executor:
        found = _generate(console, Generator(executor), ids, text, options, quiet=as_json)
    if as_json:
        _print_json(console, found, len(ids), with_text=text is not None)
    return 0


def _tokenizer(path: Path | None, prompt: str | None, tokens: str | None) -> TextTokens | None:
    """Return the tokenizer; None where tokens are given.  Raises E0101, E0102, E0104."""
    if (prompt is None) == (tokens is None):
        raise Error("E0101", "there is no text to go on with", hint="give --prompt TEXT with --tokenizer, or --tokens 1,2,3")
    if (path is None) != (prompt is None):
        raise Error("E0101", "--prompt and --tokenizer go together", hint="without a tokenizer, give --tokens 1,2,3")
    if path is None:
        return None
    from ttc.generation.tokenizer import TextTokens

    return TextTokens(path)


def _prompt(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _numbers(text: str, flag: str) -> list[int]:
    """Tokens as numbers with commas between them.  Raises E0101."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise Error("E0101", f"{flag} {text[:80]!r} is not numbers with commas between them") from None


def _generate(
    console: Console, generator: Generator, ids: list[int], text: TextTokens | None, options: GenerateOptions, *, quiet: bool
) -> Shown:
    """Generate, and write as tokens come unless `quiet`."""
    from ttc.generation.sampling import Sampling

    sampling = Sampling(temperature=options.temperature, top_k=options.top_k, top_p=options.top_p, seed=options.seed)
    start = perf_counter()
    stops, texts = _stops(options.stop, text)
    steps = generator.stream([ids] * generator.batch, options.max_tokens, sampling=sampling, stop={*generator.notes.stop, *stops})
    found = Shown([])
    pieces = _token_pieces(steps, found, start) if text is None else _text_pieces(steps, found, start, text, texts)
    for piece in pieces:
        found.text += piece
        if not quiet and piece:
            sys.stdout.write(shown_lines(piece))
            sys.stdout.flush()
    found.seconds = perf_counter() - start
    if found.ended == "length" and found.tokens and found.tokens[-1] in {*generator.notes.stop, *stops}:
        found.ended = "stop"
    if not quiet:
        sys.stdout.write("\n")
        console.note(_rate(found, len(ids)))
    return found


def _stops(given: tuple[str, ...], text: TextTokens | None) -> tuple[set[int], list[str]]:
    """Tokens, and texts, that end what is generated."""
    if text is None:
        return {number for word in given for number in _numbers(word, "--stop")}, []
    known = {word: text.token(word) for word in given}
    return {token for token in known.values() if token is not None}, [word for word, token in known.items() if token is None]


def _firsts(steps: Iterator[tuple[int | None, ...]], found: Shown, start: float) -> Iterator[int]:
    """Yield the tokens of the first row."""
    for token, *_others in steps:
        if token is None:
            return
        if not found.tokens:
            found.first_seconds = perf_counter() - start
        found.tokens.append(token)
        yield token


def _token_pieces(steps: Iterator[tuple[int | None, ...]], found: Shown, start: float) -> Iterator[str]:
    for token in _firsts(steps, found, start):
        yield str(token) if len(found.tokens) == 1 else f",{token}"


def _text_pieces(steps: Iterator[tuple[int | None, ...]], found: Shown, start: float, text: TextTokens, texts: list[str]) -> Iterator[str]:
    from ttc.generation.tokenizer import StopTexts

    stream, ends = text.stream(), StopTexts(texts)
    for token in _firsts(steps, found, start):
        yield ends.add(stream.add(token))
        if ends.stopped:
            found.ended = "stop"
            return
    yield ends.rest()


def _rate(found: Shown, prompt: int) -> str:
    """Return how fast it was, in words."""
    count, after = len(found.tokens) - 1, found.seconds - found.first_seconds
    rate = f", then {count / after:.1f} tokens/s" if count and after > 0 else ""
    return f"{prompt} tokens of the prompt, {len(found.tokens)} generated; first after {found.first_seconds * 1e3:.0f} ms{rate}"


def _print_json(console: Console, found: Shown, prompt: int, *, with_text: bool) -> None:
    count, after = len(found.tokens) - 1, found.seconds - found.first_seconds
    console.json(
        {
            "tokens": found.tokens,
            "text": found.text if with_text else None,
            "prompt_tokens": prompt,
            "ended": found.ended,
            "first_token_seconds": found.first_seconds,
            "tokens_per_second": count / after if count and after > 0 else None,
        }
    )
