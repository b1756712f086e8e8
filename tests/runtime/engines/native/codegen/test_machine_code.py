"""Objects from LLVM IR: what the passes may and may not do."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.features import cpu_of, host_cpu
from ttc.runtime.engines.native.codegen.machine_code import assembly, object_code

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="reads assembly of x86-64")

SCALE = """
define void @scale(ptr %p, i64 %a, i64 %b, ptr %s) {
entry:
  %slot = alloca i64
  store i64 %a, ptr %slot
  br label %loop
loop:
  %i = load i64, ptr %slot
  %q = getelementptr float, ptr %p, i64 %i
  %v = load <16 x float>, ptr %q, align 4
  %w = fmul <16 x float> %v, splat (float 3.0)
  store <16 x float> %w, ptr %q, align 4
  %j = add i64 %i, 16
  store i64 %j, ptr %slot
  %more = icmp slt i64 %j, %b
  br i1 %more, label %loop, label %out
out:
  ret void
}
"""
"""Sixteen numbers a round; the counter is in memory, as the builder writes it."""

FILL = """
define void @fill(ptr %p, i64 %a, i64 %b, ptr %s)
{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %q = getelementptr i8, ptr %p, i64 %i
  store i8 0, ptr %q
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %b
  br i1 %more, label %loop, label %out
out:
  ret void
}
"""
WIDE = cpu_of("x86-64", "flags: pni ssse3 sse4_1 sse4_2 avx f16c fma avx2 avx512f avx512bw avx512dq avx512vl")


def body(text: str) -> str:
    """Instructions of the innermost loop."""
    return re.search(r"\.LBB0_\d+:\n(.*?)\tj[a-z]+\t\.LBB0", text, re.DOTALL).group(1)  # pyright: ignore[reportOptionalMemberAccess]


@pytest.mark.parametrize(
    ("level", "register", "products"),
    [("avx512", "zmm", 1), ("avx2", "ymm", 2), ("generic", "xmm", 4)],
)
def test_vectors_are_as_wide_as_the_cpu(level: str, register: str, products: int) -> None:
    loop = body(assembly(SCALE, WIDE.limited_to(level)))
    assert loop.count("mulps") == products
    assert register in loop
    assert "rsp" not in loop  # the counter has become a register


def test_loops_stay_loops() -> None:
    text = assembly(FILL, WIDE)
    assert "memset" not in text
    assert body(text).count("movb") == 1  # neither vectorized nor unrolled
    assert ".cfi" not in text


@pytest.mark.parametrize(
    "text",
    [
        "define void @k() { ret i32 0 }",
        "define void @k() {\nentry:\n  br label %entry\n}\nnonsense",
        "define void @k(i64 %a) {\nentry:\n  %b = add i64 %c, 1\n  ret void\n}",
        "define i64 @k(i64 %a) {\nentry:\n  br label %next\nnext:\n  %c = add i64 %d, 1\n  %d = add i64 %a, 1\n  ret i64 %c\n}",
    ],
)
def test_modules_that_are_wrong(text: str) -> None:
    with pytest.raises(Error) as failure:
        object_code(text, host_cpu())
    assert failure.value.code == "E0901"
    assert "LLVM does not take generated code" in failure.value.message


def test_threads_compile_at_the_same_time_and_alike() -> None:
    texts = [SCALE.replace("3.0", f"{n}.5") for n in range(8)] * 4
    alone = [object_code(text, host_cpu()) for text in texts[:8]]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: object_code(text, host_cpu()), texts)) == alone * 4
