"""The pipeline as one zip for Spark's executors: ``pipeline`` and what it imports of ``fanin``.

The compiled kernels that were built are in it, for those executors that can run one.

python -m infra.pipeline_code build/fanin-pipeline.zip
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from fanin_cdk.packaging.code import sources
from fanin_cdk.packaging.paths import PACKAGE
from infra.paths import PIPELINE
from pipeline.compiled_fold.building import libraries
from pipeline.compiled_fold.loading import SOURCE

# These rooms import libraries that Spark does not have.
PACKAGE_LEFT_OUT = frozenset({"api", "change_archive", "cli", "history_report", "local", "testing"})

# The earliest time stamp that the zip format has.
BEGINNING = (1980, 1, 1, 0, 0, 0)
READABLE = 0o644 << 16


def pack(target: Path, pipeline: Path = PIPELINE, package: Path = PACKAGE) -> None:
    """Write *target*: sorted, without times and uncompressed, so the same sources give the same bytes."""
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for top, folder, left_out in (
            ("fanin", package, PACKAGE_LEFT_OUT),
            ("pipeline", pipeline, frozenset()),
        ):
            for inside in sorted([*sources(folder, left_out), *_kernels(folder)]):
                entry = ZipInfo(f"{top}/{inside.as_posix()}", BEGINNING)
                entry.external_attr = READABLE
                archive.writestr(entry, (folder / inside).read_bytes())


def _kernels(folder: Path) -> Iterator[Path]:
    """Yield the kernel and its libraries below *folder*, relative to it: the source names its libraries."""
    for source in folder.rglob(SOURCE):
        yield from (path.relative_to(folder) for path in (source, *libraries(source.parent)))


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
    sys.stdout.write(f"wrote {sys.argv[1]}, {Path(sys.argv[1]).stat().st_size:,} bytes\n")
