"""What the console writes where."""

from __future__ import annotations

import json
import math

import pytest

from ttc.cli.console import Console, column_widths, size_text, time_text


def test_streams(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.say("result")
    console.note("note")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("result\n", "note\n")


def test_quiet_leaves_notes_out_and_keeps_errors(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(-1)
    console.note("note")
    console.error("error")
    assert capsys.readouterr().err == "error\n"


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    Console().json({"a": [math.nan, 1.5], "b": (math.inf,), "c": "\x1b"})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": [None], "c": "\x1b"}


def test_tables_are_aligned_and_take_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    Console().table(["name", "n"], [["[bold]x", 5], ["y\x1b", 12]])
    assert capsys.readouterr().out == "name      n\n[bold]x   5\ny\\x1b    12\n"


def test_a_line_is_a_line_whatever_names_are_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.say("a\nb\x1b[31m")
    console.note("n\u2028m")
    console.text("two\nlines\u202e")
    console.error("e\rf\ng")
    console.table(["name", "x"], [["a\nb\u200b", 1]])
    captured = capsys.readouterr()
    assert captured.out == "a\\nb\\x1b[31m\ntwo\nlines\\u202e\nname        x\na\\nb\\u200b  1\n"
    assert captured.err == "n\\u2028m\ne\\rf\ng\n"


def test_texts() -> None:
    assert [size_text(x) for x in (0, 999, 97_520_000, 2.15e9)] == ["0 B", "999 B", "97.5 MB", "2.15 GB"]
    assert [time_text(x) for x in (2.5, 0.0123, 4.5e-5)] == ["2.50 s", "12.3 ms", "45 us"]


def test_lines_of_a_table_fit_and_words_stay_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = "/encoder/layer.11/attention/self/query/MatMul_with_a_name_that_no_line_of_forty_letters_holds"
    monkeypatch.delenv("COLUMNS", raising=False)
    Console().table(["op", "count", "why"], [["MatMul", 12, "a sentence of many words " * 20], ["Add", 5, "short"]], prose=True)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(line[15:].strip() for line in lines[1:]).split() == ("a sentence of many words " * 20 + "short").split()
    Console().table(["op", "why"], [["MatMul", "a sentence of many words " * 20]])
    assert len(capsys.readouterr().out.splitlines()) == 2, "a line a row, for programs"
    monkeypatch.setenv("COLUMNS", "40")
    Console().table(["op", "nodes"], [["MatMul", f"{name}, {name} (+2) more"], ["Add", "add (+2)"]])
    found = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in found[1:3]] == [f"{name},", name]
    assert found[-1].split() == ["Add", "add", "(+2)"]
    Console().paragraph("word " * 30)
    lines = capsys.readouterr().out.splitlines()
    assert (max(map(len, lines)) <= 40, " ".join(lines).split()) == (True, ["word"] * 30)


def test_widths_of_columns() -> None:
    cells = [["a b c d e", "1 2 3 4", "x" * 30]]
    assert column_widths(["p", "n", "q"], cells, [False, True, False], 100) == [9, 7, 30]
    assert column_widths(["p", "n", "q"], cells, [False, True, False], 41) == [1, 7, 30]
    assert column_widths(["p", "n", "q"], cells, [False, True, False], 10) == [1, 7, 30]
    assert column_widths(["p", "n", "q"], cells, [False, True, False], 10, narrowest=16) == [1, 7, 16]
