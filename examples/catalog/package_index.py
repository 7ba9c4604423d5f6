"""Makes data/catalog.jsonl.bz2 from the package index of a Debian-family machine.

    python -m examples.catalog.package_index --out data/catalog.jsonl.bz2 --slice data/catalog-slice.jsonl.bz2

The index is what `apt-get update` leaves behind; the same index gives the same bytes.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

LISTS = Path("/var/lib/apt/lists")
APT_HELPER = "/usr/lib/apt/apt-helper"
SLICE_STEP = 64

Record: TypeAlias = Mapping[str, str | int]


def find_index(lists: Path = LISTS) -> Path:
    """Return the one package index under *lists*. Raises FileNotFoundError unless there is exactly one."""
    found = sorted(lists.glob("*Packages*"))
    if len(found) == 1:
        return found[0]
    if found:
        names = "\n  ".join(str(path) for path in found)
        raise FileNotFoundError(f"more than one package index; name one with --index:\n  {names}")
    raise FileNotFoundError(f"no package index in {lists}: run `sudo apt-get update` first")


def read_index(path: Path) -> str:
    """Return the text of an index, decompressed by apt."""
    unpacked = subprocess.run([APT_HELPER, "cat-file", str(path)], check=True, capture_output=True)
    return unpacked.stdout.decode("utf-8")


def paragraphs(index: str) -> Iterator[dict[str, str]]:
    """Yield each package's fields; continuation lines belong to fields that the catalog leaves out."""
    for paragraph in index.split("\n\n"):
        lines = [line for line in paragraph.split("\n") if line and not line[0].isspace()]
        if lines:
            yield {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def record(package: Mapping[str, str]) -> Record:
    """Return the catalog's record of a package, without the maintainer's mail address."""
    return {
        "name": package["Package"],
        "version": package["Version"],
        "section": package["Section"],
        "maintainer": package["Maintainer"].partition(" <")[0],
        "size": int(package["Size"]),
        "depends": package.get("Depends", ""),
    }


def catalog(index: str) -> list[Record]:
    """Return every package of *index*, sorted by name and version, which identify it."""
    records = (record(package) for package in paragraphs(index))
    return sorted(records, key=lambda r: (r["name"], r["version"]))


def packed(records: Iterable[Record]) -> bytes:
    """Return JSON lines compressed with bzip2, which has no time stamp and which Spark can split."""
    lines = (json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n" for r in records)
    return bz2.compress("".join(lines).encode("utf-8"), compresslevel=9)


def write(path: Path, records: Sequence[Record]) -> None:
    """Write *records* to *path* and print a summary."""
    data = packed(records)
    path.write_bytes(data)
    print(f"{path}: {len(records):,} packages, {_digest(data)}")


def _digest(data: bytes) -> str:
    return f"{len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Make the catalog from this machine's package index.")
    parser.add_argument("--index", type=Path, help=f"a Packages index (default: the only one in {LISTS})")
    parser.add_argument("--out", type=Path, default=Path("data/catalog.jsonl.bz2"))
    parser.add_argument("--slice", type=Path, help=f"also write every {SLICE_STEP}th package here")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments().parse_args(argv)
    index = read_index(options.index or find_index())
    print(f"index: {_digest(index.encode())}")
    records = catalog(index)
    write(options.out, records)
    if options.slice:
        write(options.slice, records[::SLICE_STEP])


if __name__ == "__main__":
    main()
