"""Damage small valid files of every format that ttc reads, and see that each ends in success or one error.

    python tools/fuzz.py --count 1000 --format onnx --format tflite

Each input runs in process, in a forked worker with limits on memory and time.  A finding is anything but success and `ttc.Error`: another
exception, more memory or time than allowed, the death of the process, a file opened for writing outside the input's folder, a program
started, a connection opened, a pickle read.  The same seed gives the same inputs.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NoReturn

import checkout  # noqa: F401 - finds ttc where it is not installed
from fuzz_formats import Files, Format
from fuzz_mutators import ANY, changed_members, mutated
from fuzz_seeds import FORMATS
from suite import limit_memory
from ttc.dialects.core.errors import Error

SECONDS = 10
"""The seconds of processor time that an input may take."""
LEAST = 10
"""The inputs of a format that are run however little time there is."""
DEAD_SECONDS = 90
"""The seconds without a sign of life, on a machine that has other work, until a worker is ended."""
SPARE_BYTES = 2 << 30
"""The bytes of memory that a worker may take over what it has after it has read the valid files."""
EXECUTES = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "socket.connect", "socket.bind", "pickle.find_class")
"""Audit events that reading a file never causes."""
MEMORY_FOLDER = Path("/dev/shm")
"""Where files are in memory: an input is written, read and removed without waiting for a disk."""
INVALID = "invalid.txt"
"""The file in which a worker says why it could not begin."""
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "shutil.rmtree")
"""Audit events whose first argument is a path that is changed."""


@dataclass
class Finding:
    """An outcome of an input that must not happen.

    Args:    index: of the input; where: last frame of ttc, to tell findings apart; count: of inputs that gave the same.
    """

    format: str
    index: int
    what: str
    where: str
    text: str = ""
    count: int = 1


@dataclass
class Tally:
    """The outcomes of the inputs of one format."""

    format: str
    inputs: int = 0
    accepted: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)
    slowest_seconds: float = 0.0
    memory_mb: int = 0
    seconds: float = 0.0
    skipped: str | None = None


class Forbidden(BaseException):
    """Something that reading a file never does, or too much time; no handler of ttc catches it."""


# ---- inputs ----------------------------------------------------------------------------------------------------------------------------


def input_of(format_: Format, seeds: Sequence[Files], seed: int, index: int) -> Files:
    """Return the input of that number: files by path in its folder."""
    rng = Random(f"{seed}/{format_.name}/{index}")
    files = dict(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2))):
        name = rng.choice(sorted(files))
        files[name] = mutated(rng, name, files[name], [other[name] for other in seeds if name in other])
    if format_.pack is None:
        return files
    if rng.random() < 0.1:
        changed_members(rng, files)
    packed = format_.pack(files, rng)
    if rng.random() < 0.1 and packed:
        packed = rng.choice(ANY)(rng, packed, ())
    return {format_.path: packed}


def packed_seeds(format_: Format, seeds: Sequence[Files]) -> list[Files]:
    """Return the valid inputs."""
    pack = format_.pack
    return [dict(files) if pack is None else {format_.path: pack(dict(files), Random(1))} for files in seeds]


def write_input(folder: Path, files: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


# ---- the worker ------------------------------------------------------------------------------------------------------------------------


class Watch:
    """Looks at audit events of an input that runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder.resolve())
        self.on = False
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        writes = event in CHANGES or (event == "open" and _writes(arguments))
        if event in EXECUTES or (writes and not self._inside(arguments[0], arguments[-1] if event.startswith("os.") else -1)):
            self.on = False
            raise Forbidden(f"{event} {str(arguments[0])[:200]!r}")

    def _inside(self, path: Any, descriptor: Any) -> bool:
        """descriptor: of the folder that the path starts from, if it is not negative."""
        if isinstance(path, int):
            return True
        start = os.readlink(f"/proc/self/fd/{descriptor}") if isinstance(descriptor, int) and descriptor >= 0 else os.getcwd()
        found = os.path.abspath(os.path.join(start, os.fsdecode(path)))
        return found == os.devnull or found == self.folder or found.startswith(self.folder + os.sep)


def _writes(arguments: tuple[Any, ...]) -> bool:
    mode, flags = arguments[1], arguments[2]
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) if isinstance(flags, int) else bool(mode and set(mode) & set("wax+"))


def work(format_: Format, seed: int, indices: range, folder: Path, until: float, pipe: int) -> None:
    """Run inputs until there are no more or time is up; one line of JSON each."""
    sys.dont_write_bytecode = True
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    os.environ["TTC_CACHE_DIR"] = str(folder / "cache")
    place = folder / "input"
    seeds = _ready(format_, folder, place)
    cache = sys.modules.get("ttc.runtime.engines.native.codegen.cache")
    if cache is not None:  # it opens files by names in a folder that it has open, which the watch would not find inside
        cache.Cache.write = lambda *_: None
    tempfile.tempdir = str(folder)
    watch = Watch(folder)
    _limit()
    for index in indices:
        if time.monotonic() > until and index >= indices.start + LEAST:
            break
        write_input(place, input_of(format_, seeds, seed, index))
        found = run_input(format_, place / format_.path, watch)
        os.write(pipe, (json.dumps({"index": index, **found}) + "\n").encode())
        if "what" in found and found["what"].startswith(("MemoryError", "Forbidden")):
            break  # memory, or a library that was interrupted, may be in any state: a new worker goes on


def _ready(format_: Format, folder: Path, place: Path) -> list[Files]:
    """The valid files, each read once, so that what is loaded late is loaded."""
    try:
        (folder / "seeds").mkdir(exist_ok=True)
        seeds = format_.seeds(folder / "seeds")
        for files in packed_seeds(format_, seeds):
            write_input(place, files)
            format_.run(place / format_.path)
    except Exception:  # noqa: BLE001 - told by the parent
        (folder / INVALID).write_text(traceback.format_exc())
        raise
    return seeds


def _limit() -> None:
    limit_memory(SPARE_BYTES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _overtime)


def _overtime(_: int, frame: FrameType | None) -> NoReturn:
    raise Forbidden(f"more than {SECONDS} s")


def run_input(format_: Format, path: Path, watch: Watch) -> dict[str, Any]:
    """Return what became of one input: a code, nothing if it was accepted, or what must not happen and where."""
    found: dict[str, Any] = {}
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    watch.on = True
    try:
        format_.run(path)
    except Error as error:
        found = _finding(error) if error.code == "E0901" else {"code": error.code}
    except BaseException as error:  # noqa: BLE001 - all others are findings
        found = _finding(error)
    finally:
        watch.on = False
        signal.setitimer(signal.ITIMER_PROF, 0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return {**found, "seconds": round(time.process_time() - start, 3), "memory_mb": memory}


def _finding(error: BaseException) -> dict[str, str]:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tools/" not in f.filename]
    own = [f for f in frames if any(f"/{part}/" in f.filename for part in ("ttc", "dialects", "passes", "runtime"))] or frames
    where = f"{'/'.join(Path(own[-1].filename).parts[-3:])}:{own[-1].lineno}" if own else ""
    text = "".join(traceback.format_exception(error, limit=-12))[-4000:]
    return {"what": f"{type(error).__name__}: {str(error)[:200]}", "where": where, "text": text}


# ---- the parent ------------------------------------------------------------------------------------------------------------------------


def fuzz(format_: Format, seed: int, indices: range, seconds: float) -> Tally:
    """Run the inputs of a format, as far as time allows.

    Args:
        seconds: that all may take, with the making of valid files.
    """
    tally = Tally(format_.name)
    package = format_.missing()
    if package is not None:
        tally.skipped = f"{package} is not installed"
        return tally
    start = time.monotonic()
    following = indices.start
    with tempfile.TemporaryDirectory(prefix="ttc-fuzz-", dir=MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None) as name:
        folder = Path(name)
        while following < indices.stop and (time.monotonic() < start + seconds or following < indices.start + LEAST):
            before = following
            for found in _lines(format_, seed, range(following, indices.stop), folder, start + seconds):
                following = found.get("index", following) + 1
                _count(tally, found | {"index": following - 1})
            if following == before:
                break
    tally.seconds = round(time.monotonic() - start, 1)
    return tally


def _lines(format_: Format, seed: int, indices: range, folder: Path, until: float) -> Iterator[dict[str, Any]]:
    """Yield what a worker says; where it dies, what it died of, in place of the input that it died of."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _become_worker(format_, seed, indices, folder, until, writer, reader)
    os.close(writer)
    rest, silent = b"", False
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], DEAD_SECONDS)
            data = pipe.read(1 << 16) if ready else b""
            if not data:
                silent = not ready
                break
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)
    if silent:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if (folder / INVALID).exists():
        raise RuntimeError(f"a valid file of format {format_.name} is refused:\n{(folder / INVALID).read_text()}")
    if status != 0:
        yield {
            "what": f"no sign of life for {DEAD_SECONDS} s" if silent else f"the process ended with status {status}",
            "where": "",
            "text": "",
        }


def _become_worker(format_: Format, seed: int, indices: range, folder: Path, until: float, writer: int, reader: int) -> NoReturn:
    os.close(reader)
    status = 1
    try:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        faulthandler.disable()
        work(format_, seed, indices, folder, until, writer)
        status = 0
    finally:
        os._exit(status)


def _count(tally: Tally, found: dict[str, Any]) -> None:
    tally.inputs += 1
    tally.slowest_seconds = max(tally.slowest_seconds, found.get("seconds", 0.0))
    tally.memory_mb = max(tally.memory_mb, found.get("memory_mb", 0))
    if "code" in found:
        tally.codes[found["code"]] += 1
    elif "what" not in found:
        tally.accepted += 1
    else:
        kind = found["what"].partition(":")[0], found["where"]
        if kind in tally.findings:
            tally.findings[kind].count += 1
            return
        tally.findings[kind] = Finding(tally.format, found["index"], found["what"], found["where"], found["text"])


def save_findings(tally: Tally, seed: int, keep: Path) -> None:
    """Write what causes each finding into a folder of its own, with its traceback."""
    format_ = FORMATS[tally.format]
    with tempfile.TemporaryDirectory(prefix="ttc-fuzz-") as name:
        seeds = format_.seeds(Path(name)) if tally.findings else []
    for finding in tally.findings.values():
        place = keep / f"{tally.format}-{seed}-{finding.index}"
        write_input(place, input_of(format_, seeds, seed, finding.index))
        (place / "finding.txt").write_text(f"{finding.what}\n{finding.where}\n{finding.text}")


# ---- the report ------------------------------------------------------------------------------------------------------------------------


HEADING = f"{'format':12}{'inputs':>9}{'accepted':>10}{'refused':>9}{'findings':>10}{'slowest s':>11}{'MB':>7}{'seconds':>9}"


def row(tally: Tally) -> str:
    """Return the figures of a format as a row."""
    if tally.skipped:
        return f"{tally.format:12}{tally.skipped}"
    found = sum(finding.count for finding in tally.findings.values())
    counts = f"{tally.inputs:9}{tally.accepted:10}{sum(tally.codes.values()):9}{found:10}"
    return f"{tally.format:12}{counts}{tally.slowest_seconds:11.1f}{tally.memory_mb:7}{tally.seconds:9.0f}"


def findings(tally: Tally) -> Iterator[str]:
    """Yield a line for each finding."""
    for finding in tally.findings.values():
        yield f"  {finding.format} {finding.index} ({finding.count} times): {finding.what} at {finding.where}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns exit status 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="inputs of each format (default: 1000)")
    parser.add_argument("--seconds", type=float, default=600, metavar="S", help="that all formats may take together (default: 600)")
    parser.add_argument("--format", action="append", choices=tuple(FORMATS), help="only these (default: all but keras_tf)")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations (default: 0)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first input: that of a finding, with --count 1")
    parser.add_argument("--findings", type=Path, metavar="FOLDER", help="write what causes findings there")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    given = parser.parse_args(arguments)
    import_module("ttc.compiler.driver")  # once, for all workers
    tallies: list[Tally] = []
    start, names = time.monotonic(), given.format or [name for name, format_ in FORMATS.items() if not format_.slow]
    if not given.json:
        print(HEADING, flush=True)
    for number, name in enumerate(names):
        share = (given.seconds - (time.monotonic() - start)) / (len(names) - number)
        tally = fuzz(FORMATS[name], given.seed, range(given.first, given.first + given.count), share)
        tallies.append(tally)
        if given.findings is not None:
            save_findings(tally, given.seed, given.findings)
        if not given.json:
            print("\n".join((row(tally), *findings(tally))), flush=True)
    if given.json:
        print(json.dumps([{**vars(t), "findings": [asdict(f) for f in t.findings.values()]} for t in tallies], indent=1))
    return int(any(tally.findings for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
