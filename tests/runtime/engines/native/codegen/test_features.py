"""What the text of /proc/cpuinfo says, levels, and keys."""

from __future__ import annotations

import platform

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen import features
from ttc.runtime.engines.native.codegen.features import LEVELS, Cpu, allowed_cpu, cpu_of, host_cpu, permit_amx

AVX2 = "pni ssse3 sse4_1 sse4_2 popcnt abm movbe bmi1 bmi2 avx f16c fma avx2"
AVX512 = f"{AVX2} avx512f avx512cd avx512bw avx512dq avx512vl avx512_vnni avx512_bf16"
AMX = f"{AVX512} avx512_fp16 amx_tile amx_bf16 amx_int8"


def x86(flags: str) -> Cpu:
    return cpu_of(
        "x86-64", f"processor\t: 0\nmodel name\t: a CPU: fast\nflags\t\t: fpu {flags} sha_ni\nbugs\t\t: spectre\n\nprocessor\t: 1\n"
    )


@pytest.mark.parametrize(("flags", "width"), [("", 16), ("pni ssse3", 16), (AVX2, 32), (AVX512, 64), (AMX, 64)])
def test_width_of_vectors(flags: str, width: int) -> None:
    assert x86(flags).vector_bytes == width


def test_names_are_those_of_llvm() -> None:
    assert x86(AMX).has("sse3", "sse4.2", "lzcnt", "bmi", "avx512bf16", "avx512vnni", "avx512fp16", "amx-tile", "amx-bf16", "amx-int8")
    assert cpu_of("aarch64", "Features\t: fp asimd asimdhp asimddp bf16\n").features == {"neon", "fullfp16", "dotprod", "bf16"}


def test_a_feature_counts_only_with_all_it_needs() -> None:
    assert x86("pni avx512f amx_bf16").features == {"sse3"}
    assert x86(AVX2.replace("fma", "")).vector_bytes == 16
    assert x86(AVX512).without("avx512bw").vector_bytes == 32
    assert not x86(AVX512).without("avx512bw").has("avx512bf16")
    assert x86(AMX).without("amx-tile") == x86(AVX512 + " avx512_fp16")
    assert x86(AVX512).without("sse3") == Cpu("x86-64", frozenset())


def test_levels() -> None:
    cpu = x86(AMX)
    assert cpu.limited_to("amx") == cpu
    assert cpu.limited_to("avx512") == x86(AVX512 + " avx512_fp16")
    assert cpu.limited_to("avx2") == x86(AVX2)
    assert cpu.limited_to("generic").features == set()
    assert x86(AVX2).limited_to("amx") == x86(AVX2)
    assert cpu_of("aarch64", "Features : asimd bf16").limited_to("generic").features == {"neon"}
    with pytest.raises(Error) as failure:
        cpu.limited_to("avx12")
    assert (failure.value.code, failure.value.hint) == ("E0101", "did you mean 'avx512'?")


def test_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "host_cpu", lambda: x86(AVX512))
    assert allowed_cpu({"TTC_CPU": "avx2"}) == x86(AVX2)
    assert allowed_cpu({"TTC_CPU": ""}) == allowed_cpu({}) == x86(AVX512)
    with pytest.raises(Error) as failure:
        allowed_cpu({"TTC_CPU": "sse9"})
    assert str(failure.value) == f"error[E0101]: TTC_CPU cannot be 'sse9'\nhint: it takes one of {', '.join(LEVELS)}"


def test_keys_tell_cpus_apart() -> None:
    keys = [x86(flags).key for flags in ("", AVX2, AVX512, AMX)]
    assert len(set(keys)) == 4
    assert keys[0] == "x86-64"
    assert x86(AVX2).key == x86(" ".join(reversed(AVX2.split()))).key


def test_feature_strings_name_what_is_not_there() -> None:
    marks = set(x86(AVX2).llvm_features.split(","))
    assert {"+avx2", "+fma", "-avx512f", "-amx-tile", "-prefer-256-bit"} <= marks
    assert Cpu("riscv64", frozenset()).llvm_features == ""


@pytest.mark.parametrize("text", ["", "flags", "\0\0:\n", "flags\t: \n"])
def test_text_without_flags(text: str) -> None:
    assert cpu_of("x86-64", text) == Cpu("x86-64", frozenset())
    assert cpu_of("m68k", text).vector_bytes == 16


@pytest.mark.skipif(platform.machine() != "x86_64", reason="asks this machine")
def test_this_machine_is_what_llvm_says() -> None:
    import llvmlite.binding as llvm

    theirs = {name for name, there in llvm.get_host_cpu_features().items() if there}
    assert host_cpu().features <= theirs
    known = {feature for _, feature, _ in features._X86}
    assert theirs & known == host_cpu().features
    assert permit_amx() == host_cpu().has("amx-tile")


@pytest.mark.parametrize(("flags", "pairs"), [(AVX2, False), (AVX512.replace("avx512_bf16", ""), False), (AVX512, True), (AMX, True)])
def test_who_multiplies_pairs_of_bfloat16(flags: str, pairs: bool) -> None:
    assert x86(flags).multiplies_pairs == pairs
    assert not x86(flags).limited_to("avx2").multiplies_pairs
