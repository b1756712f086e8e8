"""Descriptor files: both forms, and files that are not to be trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target

SAMPLES = Path(__file__).parents[3] / "data" / "device_descriptors"


def write(folder: Path, text: str, name: str = "chip.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_own_form(tmp_path: Path) -> None:
    target = load_target(write(tmp_path, "arch: grayskull\ngrid: [2, 3]\nformats: [Float16, Float32]\n"))
    assert (target.name, target.arch, target.chips, target.grid) == ("chip", "grayskull", 1, (2, 3))
    assert (target.formats, target.l1_usable_bytes) == (("Float16", "Float32"), 577_408)


def test_own_form_may_name_the_target(tmp_path: Path) -> None:
    assert load_target(write(tmp_path, "name: mine\narch: blackhole\nclock_hz: 800000000\n")).name == "mine"


def test_names_come_from_file_names(tmp_path: Path) -> None:
    assert load_target(write(tmp_path, "arch: blackhole", "..my chip,2.yaml")).name == "my_chip_2"


@pytest.mark.parametrize("name", ["wormhole_2chip_cluster", "wormhole_2x4_sequential_cluster"])
def test_clusters_are_no_chips(name: str) -> None:
    with pytest.raises(Error, match="E0101.*cluster"):
        load_target(str(SAMPLES / f"{name}.yaml"))


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E0102"),
        ("just text", "E0102"),
        ("[1, 2]", "E0102"),
        ("arch: [unclosed", "E0102"),
        ("\tarch: x", "E0102"),
        ("arch: \x00", "E0102"),
        ("arch: !!python/object/apply:os.system ['true']", "E0102"),
        ("clock_hz: !!bool maybe", "E0102"),
        ("clock_hz: !!int ''", "E0102"),
        ("clock_hz: !!timestamp x", "E0102"),
        ("clock_hz: 2001-99-99", "E0102"),
        ("clock_hz: " + "9" * 5000, "E0102"),
        ("? [a, b]\n: 1", "E0102"),
        ("arch: grayskull\narch: blackhole", "E0102"),
        ("arch: &a grayskull\nname: *a", "E0102"),
        (bomb(), "E0102"),
        ("a: " + "[" * 2000, "E0102"),
        ("a: " + "[" * 40 + "]" * 40, "E0102"),
        ("# " + "x" * (1 << 16), "E0102"),
        ("grid: [2, 3]", "E0101"),
        ("arch: wormhole", "E0101"),
        ("arch: [grayskull]", "E0101"),
        ("arch: host", "E0101"),
        ("arch: grayskull\ngrid: null", "E0101"),
        ("arch: grayskull\ngrid: [12, 12]", "E0101"),  # more rows than the chip has
        ("arch: grayskull\ngrids: [2, 3]", "E0101"),
        ("arch: grayskull\n1: 2", "E0101"),
        ("arch: grayskull\nl1_bytes: 400000", "E0101"),  # less than firmware takes
        ("arch: grayskull\ndram_channel_bytes: 1000000", "E0101"),  # all of it reserved
    ],
)
def test_bad_files(tmp_path: Path, text: str, code: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(Error) as caught:
        load_target(path)
    assert caught.value.code == code
    assert "chip.yaml" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x81")
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in ("missing.yaml", ".", "binary.yaml", "pipe.yaml"):
        with pytest.raises(Error, match="E0102"):
            load_target(str(tmp_path / name))
