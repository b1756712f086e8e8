"""Scores of the tables that the package has."""

import json
from pathlib import Path

import pytest

from cost_error import BARS, grouped, main, over, scored, summary
from timings import read_timings

DATA = Path(__file__).resolve().parents[1] / "data" / "silicon_ops"
HEAD = "input0_df,math_fidelity,t,mblock_m,mblock_n,ublock_rt,ublock_ct,runtime\n"


@pytest.fixture(scope="module")
def scores():
    return scored(read_timings(DATA).rows)


def test_every_class_is_within_its_bars(scores) -> None:
    found = grouped(scores, "kind")
    assert found.keys() == {*BARS, "sparse"}
    assert not [kind for kind, of_kind in found.items() if over(kind, of_kind)]


def test_every_file_is_within_the_bars_of_its_class(scores) -> None:
    found = grouped(scores, "file")
    assert len(found) == 65
    assert not {name: of_file for name, of_file in found.items() if over(of_file["class"], of_file)}


def test_summary_of_known_errors(scores) -> None:
    few = [score.__class__(score.timing, error) for score, error in zip(scores, (-0.5, 0.1, 0.0, 0.2, 1.0), strict=False)]
    assert summary(few) == {"rows": 5, "median": 0.2, "p90": 0.8, "ratio": [0.6, 1.84]}
    assert over("elementwise", summary(few))
    assert not over("sparse", summary(few))


def folder_of(tmp_path: Path, rows: str, name: str = "wormhole_b0/exp-op-performance.csv") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + rows)
    return tmp_path


def test_status_and_json_within_the_bars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder_of(tmp_path, "Bfp8_b,LoFi,1,1,2,1,1,10\n", "wormhole_b0/frobnicate-op-performance.csv")
    assert main([str(folder_of(tmp_path, "Bfp8_b,LoFi,1,2,2,1,2,14200\nBfp8_b,LoFi,1,2,2,1,2,-3\n")), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"]["elementwise"]["rows"] == 1
    assert found["files"]["wormhole_b0/exp-op-performance.csv"]["median"] < 0.02
    assert list(found["unscored"]) == ["wormhole_b0/frobnicate-op-performance.csv"]
    assert len(found["bad_rows"]) == 1


def test_status_over_a_bar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder_of(tmp_path, "Bfp8_b,LoFi,1,2,2,1,2,2000\n"))]) == 1
    assert "over the bar" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe,runtime\n", HEAD.encode()])
def test_status_of_what_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "wormhole_b0").mkdir()
        (tmp_path / "wormhole_b0" / "exp.csv").write_bytes(content)
    assert main([str(tmp_path)]) == 2
