"""Where figures start, and the files they are kept in."""

import tomllib

from figures import WIDER, starts, to_toml
from ttc.runtime.perf.table import Figure, parse_table


def test_starts_are_the_published_weights() -> None:
    wormhole, grayskull = starts("wormhole_b0"), starts("grayskull")
    assert wormhole.keys() == grayskull.keys() >= WIDER.keys()
    assert (wormhole["exp.tile"].value, grayskull["exp.tile"].value) == (1771, 2666)
    assert wormhole["exp.tile"] == Figure(1771, "cycles/tile", "published")
    assert wormhole["tanh.tile"] == grayskull["tanh.tile"]


def test_files_are_read_back_as_they_were_written() -> None:
    figures = {"b.tile": Figure(2.5, "cycles/tile", "fitted"), "a": Figure(1234.0, "cycles", "published")}
    text = to_toml("grayskull", figures, "wormhole_b0")
    raw = tomllib.loads(text)
    assert (raw["arch"], raw["like"]) == ("grayskull", "wormhole_b0")
    assert parse_table(raw).figures == figures
    assert text.index('"a" =') < text.index('"b.tile" =')
