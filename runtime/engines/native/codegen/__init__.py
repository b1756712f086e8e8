"""From LLVM IR to code in memory: the CPU and its instructions, LLVM, linking, and the cache of code and plans."""
