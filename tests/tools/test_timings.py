"""Reading timings: both layouts, and what is none of them."""

from pathlib import Path

import pytest

from timings import arch_of, read_timings

DATA = Path(__file__).resolve().parents[1] / "data" / "silicon_ops"
SMALL = "input0_df,math_fidelity,t,mblock_m,mblock_n,ublock_rt,ublock_ct,runtime\n"
ROW = "Bfp8_b,LoFi,1,2,4,1,2,1000\n"


def folder_of(tmp_path: Path, text: str, name: str = "wormhole_b0/exp-op-performance.csv") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return tmp_path


def test_every_row_of_the_sample_is_read() -> None:
    found = read_timings(DATA)
    assert (len(found.rows), found.unscored, found.bad) == (6547, {}, [])
    assert {row.arch for row in found.rows} == {"grayskull", "wormhole_b0"}
    assert {row.kind for row in found.rows} == {"matmul", "elementwise", "sparse"}


def test_a_small_table(tmp_path: Path) -> None:
    row = read_timings(folder_of(tmp_path, SMALL + ROW)).rows[0]
    assert (row.arch, row.file, row.line, row.cycles) == ("wormhole_b0", "wormhole_b0/exp-op-performance.csv", 2, 1000.0)
    assert (row.work.op, row.work.mblock, row.work.ublock, row.work.inputs, row.work.fidelity) == (
        "exp",
        (2, 4),
        (1, 2),
        ("Bfp8_b",),
        "LoFi",
    )


def test_a_wide_sweep_is_divided_by_its_inputs() -> None:
    rows = [r for r in read_timings(DATA).rows if r.file.endswith("dequantization-int8-op-performance.csv")]
    assert (rows[0].work.op, rows[0].work.inputs, rows[0].work.output) == ("dequantization", ("Int8", "Float32"), "Float32")
    assert rows[0].cycles == 1285146 / 128


@pytest.mark.parametrize(
    ("name", "op", "expected"),
    [
        ("exp-approx-op-performance", "exp", {"approximate": True}),
        ("exp-vector-r-op-performance", "exp", {"vector": "r"}),
        ("whb0-reduce-c-performance", "reduce", {"dim": "c"}),
        ("reduce-z-op-performance", "reduce", {"dim": "z"}),
        ("nop-int8-op-performance", "nop", {}),
        ("subtract-int32-op-performance", "subtract", {}),
        ("gelu-derivative-op-performance", "gelu_derivative", {}),
        ("tilizer-op-performance", "nop", {}),
    ],
)
def test_a_name_says_what_is_timed(tmp_path: Path, name: str, op: str, expected: dict[str, object]) -> None:
    work = read_timings(folder_of(tmp_path, SMALL + ROW, f"grayskull/{name}.csv")).rows[0].work
    assert work.op == op
    assert {key: getattr(work, key) for key in expected} == expected


def test_columns_overrule_names(tmp_path: Path) -> None:
    text = "arch,op,Vector-Mode,approximate_mode," + SMALL + "blackhole,tanh,c,true," + ROW
    row = read_timings(folder_of(tmp_path, text, "sweep/exp.csv")).rows[0]
    assert (row.arch, row.work.op, row.work.vector, row.work.approximate) == ("blackhole", "tanh", "c", True)


def test_blocks_of_a_reduction_are_those_of_its_operand(tmp_path: Path) -> None:
    head = "Reduce-Type,reduce_dim,input0_df,math_fidelity,input0_t," + ",".join(
        f"{side}_{part}" for side in ("input0", "output") for part in ("mb_r", "mb_c", "ub_r", "ub_c")
    )
    text = f"{head},first-input-idx-recorded,last-input-idx-recorded,total-runtime\nmax,c,Bfp8_b,LoFi,1,4,8,1,2,4,1,1,1,0,127,128000\n"
    row = read_timings(folder_of(tmp_path, text, "wormhole_b0/sweep.csv")).rows[0]
    assert (row.work.op, row.work.dim, row.work.mblock, row.work.ublock, row.cycles) == ("reduce", "c", (4, 8), (1, 2), 1000.0)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("wormhole_b0/frobnicate-op-performance.csv", SMALL + ROW, "no rule for an op 'frobnicate'"),
        ("elsewhere/exp-op-performance.csv", SMALL + ROW, "names a known architecture"),
        ("wormhole_b0/exp.csv", "a,b\n1,2\n", "no column of run times"),
    ],
)
def test_what_is_not_scored_has_a_reason(tmp_path: Path, name: str, text: str, reason: str) -> None:
    found = read_timings(folder_of(tmp_path, text, name))
    assert not found.rows
    [(text, rows)] = found.unscored[name].items()
    assert reason in text
    assert rows == 1


@pytest.mark.parametrize(
    "row",
    [
        "Bfp8_b,LoFi,1,2,4,1,2,0\n",
        "Bfp8_b,LoFi,1,2,4,1,2,nan\n",
        "Bfp8_b,LoFi,1,2,4,1,2,inf\n",
        "Bfp8_b,LoFi,1,2,0,1,2,9\n",
        "Bfp8_b,LoFi,1,2,4,1,99999999999999999999,9\n",
        "Bfp8_b,LoFi,1,2,x,1,2,9\n",
        "Bfp8_b,LoFi,1,2\n",
        "Bfp9,LoFi,1,2,4,1,2,9\n",
        "Bfp8_b,HiFi9,1,2,4,1,2,9\n",
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: str) -> None:
    found = read_timings(folder_of(tmp_path, SMALL + ROW + row))
    assert len(found.rows) == 1
    assert [text.partition(": ")[0] for text in found.bad] == ["wormhole_b0/exp-op-performance.csv:3"]


def test_the_nearest_folder_names_the_architecture() -> None:
    assert arch_of(Path("/data/grayskull/new_wormhole_b0_sweeps/x")) == "wormhole_b0"
    assert arch_of(Path("/data/x")) is None
