"""The command `ttc cache`: what the cache of machine code holds, and its removal."""

from __future__ import annotations

import os

import click

from ttc.cli.console import Console, size_text
from ttc.cli.options import verbosity


@click.command("cache")
@click.option("--clear", is_flag=True, help="Delete all entries: kernels are then compiled anew as they are needed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, clear: bool, as_json: bool) -> int:
    """Show the folder of compiled kernels: TTC_CACHE_DIR, or `ttc` in the user's folder of caches."""
    from ttc.runtime.engines.native.codegen.cache import Cache, cache_folder

    cache = Cache(cache_folder(os.environ))
    cleared = cache.clear() if clear else []
    entries = list(cache.entries())
    facts = {
        "folder": None if cache.folder is None else str(cache.folder),
        "unusable": cache.reason,
        "entries": len(entries),
        "bytes": sum(entry.size_bytes for entry in entries),
        "limit_bytes": cache.limit_bytes,
        "cleared_entries": len(cleared),
        "cleared_bytes": sum(entry.size_bytes for entry in cleared),
    }
    if as_json:
        console.json(facts)
        return 0
    if cache.reason is not None:
        console.say(f"no cache, kernels are compiled in each process: {cache.reason}")
        return 0
    if clear:
        console.say(f"deleted {_count(len(cleared))}, {size_text(facts['cleared_bytes'])}")
    console.say(f"{cache.folder}: {_count(len(entries))}, {size_text(facts['bytes'])} of at most {size_text(cache.limit_bytes)}")
    return 0


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"
