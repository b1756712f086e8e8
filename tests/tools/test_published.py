"""`tools/published.py`: how its rows are scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import published
from published import Row, ranks, spearman

ROW = Row("vit", "n150", 64, 540.0, 600.0, 600 / 540, 3, "math", 0.1, standstill=False)


def test_ranks() -> None:
    assert ranks([10.0, 30.0, 20.0]) == [0, 2, 1]
    assert ranks([5.0, 5.0, 1.0]) == [1.5, 1.5, 0]


def test_spearman() -> None:
    rows = [replace(ROW, published=float(p), estimate=float(e)) for p, e in ((1, 10), (2, 20), (3, 30), (4, 25))]
    assert spearman(rows) == pytest.approx(0.8)
    assert spearman(rows[:3]) == 1.0
    assert spearman(rows[:1]) == 1.0


@pytest.mark.parametrize(
    ("change", "status"),
    [({}, 0), ({"ratio": 2.1}, 1), ({"ratio": 0.4}, 1), ({"standstill": True}, 1), ({"model": "resnet50", "peak": 0.6}, 1)],
)
def test_bars(change: dict[str, object], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def row_of(model: str, target: str, folder: Path) -> Row:
        return replace(ROW, **change)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr("sys.argv", ["published.py", "--models", "vit", "--targets", "n150"])
    monkeypatch.setattr(published, "row_of", row_of)
    assert published.main() == status
    assert "Spearman" in capsys.readouterr().out
