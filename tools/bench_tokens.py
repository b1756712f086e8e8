"""Compare the generation of tokens with that of other programs: a Llama of 110 M parameters with random weights.

    make bench-tokens
    python tools/bench_tokens.py [--peers ttc,openvino] [--precisions float32,bfloat16] [--rounds 5]

Each has a process of its own that waits for its turn, 64 tokens after a prompt of 128; turns are interleaved.  A row is the median of the
turns: milliseconds to the first token, and tokens a second after it.  A peer that cannot be prepared says why, and has no row.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

PROMPT, TOKENS, VOCABULARY = 128, 64, 32000
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
}
Turn = Callable[[Callable[[], None]], None]
"""One generation, which calls the given function at each token."""


def prompt() -> list[int]:
    """Return the prompt, the same for all."""
    return np.random.default_rng(0).integers(0, VOCABULARY, PROMPT).tolist()


def model_in(folder: Path) -> Any:
    """Return the model that `make_model` has written."""
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(folder).eval()


def make_model(folder: Path) -> None:
    """Write the model, and a tokenizer of words, which onnxruntime-genai's builder asks for."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**SIZES)).save_pretrained(folder)
    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(VOCABULARY)}, unk_token="w0"))
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)


def ours(folder: Path, precision: str, threads: int) -> Turn:
    """Generate with `ttc.generator`."""
    import ttc

    generator = ttc.generator(model_in(folder), max_length=PROMPT + TOKENS, target="host", precision=precision, threads=threads)

    def turn(on_token: Callable[[], None]) -> None:
        generator.reset()
        for _ in generator.stream(prompt(), TOKENS, stop=()):
            on_token()

    return turn


def transformers_(folder: Path, precision: str, threads: int) -> Turn:
    """Generate with the library's own loop, eager, with its growing cache."""
    import torch

    torch.set_num_threads(threads)
    model = model_in(folder).to(getattr(torch, precision))

    @torch.no_grad()
    def turn(on_token: Callable[[], None]) -> None:
        tokens, cache = torch.tensor([prompt()]), None
        for _ in range(TOKENS):
            found = model(input_ids=tokens, use_cache=True, past_key_values=cache, logits_to_keep=1)
            cache, tokens = found.past_key_values, found.logits[:, -1:].argmax(-1)
            on_token()

    return turn


def openvino_(folder: Path, precision: str, threads: int) -> Turn:
    """Generate with the model as OpenVINO converts it, with its cache as states of the graph."""
    import openvino

    from tokens_openvino import write_openvino

    path = write_openvino(model_in(folder), folder / "openvino")
    kind = {"float32": "f32", "bfloat16": "bf16"}[precision]
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": kind, "PERFORMANCE_HINT": "LATENCY"}
    request = openvino.compile_model(path, "CPU", settings).create_infer_request()

    def turn(on_token: Callable[[], None]) -> None:
        request.reset_state()
        tokens, places = np.array([prompt()], np.int64), np.arange(PROMPT)[None]
        for _ in range(TOKENS):
            mask = np.ones((1, places[0, -1] + 1), np.int64)
            inputs = {"input_ids": tokens, "attention_mask": mask, "position_ids": places, "beam_idx": np.zeros(1, np.int32)}
            tokens = request.infer(inputs, share_inputs=True)["logits"][:, -1].argmax(-1)[None]
            on_token()
            places = places[:, -1:] + 1

    return turn


def onnxruntime_genai_(folder: Path, precision: str, threads: int) -> Turn:
    """Generate with the model as the builder of onnxruntime-genai writes it."""
    import json

    import onnxruntime_genai as genai

    made = folder / f"genai-{precision}"
    kind = {"float32": "fp32", "bfloat16": "bf16"}[precision]
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", folder, "-i", folder, "-o", made, "-p", kind, "-e", "cpu"]
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr, stderr=subprocess.DEVNULL)
    path = made / "genai_config.json"
    config = json.loads(path.read_text())
    config["model"]["decoder"]["session_options"] |= {"intra_op_num_threads": threads}
    path.write_text(json.dumps(config))
    model = genai.Model(str(made))

    def turn(on_token: Callable[[], None]) -> None:
        settings = genai.GeneratorParams(model)
        settings.set_search_options(max_length=PROMPT + TOKENS, min_length=PROMPT + TOKENS, do_sample=False)
        generator = genai.Generator(model, settings)
        generator.append_tokens(np.array([prompt()], np.int32))
        for _ in range(TOKENS):
            generator.generate_next_token()
            on_token()

    return turn


PEERS: dict[str, Callable[[Path, str, int], Turn]] = {
    "ttc": ours,
    "transformers": transformers_,
    "onnxruntime-genai": onnxruntime_genai_,
    "openvino": openvino_,
}


def work(name: str, folder: Path, precision: str, threads: int) -> None:
    """Wait for turns on standard input, and write the figures of each."""
    turn = PEERS[name](folder, precision, threads)
    for _ in range(2):
        turn(lambda: None)  # the first are slower
    print("ready", flush=True)
    for _ in sys.stdin:
        times = [perf_counter()]
        turn(partial(lambda found: found.append(perf_counter()), times))
        print((times[1] - times[0]) * 1e3, (len(times) - 2) / (times[-1] - times[1]), flush=True)


class Worker:
    """A process that generates when it is its turn."""

    def __init__(self, name: str, folder: Path, precision: str, threads: int) -> None:
        command = [sys.executable, __file__, "--worker", name, str(folder), precision, str(threads)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.rows: list[tuple[float, float]] = []

    def line(self) -> str:
        """Return the next line that it writes; empty if it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def turn(self) -> None:
        """Let it generate once."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        first, rate = map(float, self.line().split())
        self.rows.append((first, rate))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(folder: Path, precision: str, peers: list[str], rounds: int, threads: int) -> None:
    """Print a row for each at one precision."""
    workers: dict[str, Worker] = {}
    for name in peers:
        worker = Worker(name, folder, precision, threads)
        if worker.line() == "ready":
            workers[name] = worker
        else:
            worker.close()
            print(f"{precision:10} {name:20} cannot be prepared", flush=True)
    for _ in range(rounds):
        for worker in workers.values():
            worker.turn()
    for name, worker in workers.items():
        worker.close()
        first, rate = (statistics.median(column) for column in zip(*worker.rows, strict=True))
        print(f"{precision:10} {name:20} {first:8.1f} ms to the first token {rate:8.1f} tokens/s", flush=True)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--precisions", default="float32,bfloat16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        name, folder, precision, threads = options.worker
        work(name, Path(folder), precision, int(threads))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_model(Path(folder))
        for precision in options.precisions.split(","):
            measure(Path(folder), precision, options.peers.split(","), options.rounds, options.threads)


if __name__ == "__main__":
    main()
