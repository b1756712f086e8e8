"""Features of CPUs that are not here, each with all that it needs."""

AVX2 = frozenset({"sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c"})
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
