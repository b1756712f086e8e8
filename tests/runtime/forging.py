"""Archives as a forger would change them, sealed again so that only what they say is wrong."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.runtime import archive as archive_module
from ttc.runtime.loader import load
from ttc.runtime.zip_format import ZipEntry, central_header, end_records, local_header

Members = list[tuple[str, bytes]]
"""Names and bytes of an archive's members."""


def code_of(path: Path) -> str | None:
    """The code of the error that loading gives; None if it loads."""
    try:
        load(path)
    except Error as error:
        return error.code if (error.where or "").startswith(str(path)) else f"{error.code} without the file"
    return None


def forge(
    path: Path, change: Callable[[dict], object] = lambda _: None, members: Callable[[Members], Members] = list, central: bytes = b""
) -> str | None:
    """Change manifest or members of the archive, seal it again as a forger would, and give the code that loading it ends with.

    central: replaces the attributes' bytes of the first directory entry.
    """
    with zipfile.ZipFile(path) as file:
        contents = [(info.filename, file.read(info)) for info in file.infolist()]
    manifest = json.loads(dict(contents)["manifest.json"])
    change(manifest)
    contents = members([(n, d) for n, d in contents if n != "manifest.json"])
    contents.append(("manifest.json", json.dumps(manifest).encode()))
    data, entries = b"", []
    for name, member in contents:
        entry = ZipEntry(name, len(member), zlib.crc32(member), len(data))
        data += local_header(entry) + member
        entries.append(entry)
    directory = b"".join(map(central_header, entries))
    directory = directory[:38] + central + directory[38 + len(central) :]
    seal = archive_module.seal_of(contents[-1][1], directory)
    path.write_bytes(data + directory + end_records(len(entries), len(data), len(directory), seal))
    return code_of(path)
