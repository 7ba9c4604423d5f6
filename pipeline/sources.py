"""Reads a dataset, whatever its format, as one frame."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pipeline import files, schemas
from pipeline.failing import FAILURES, sentence

DATA = Path(__file__).resolve().parents[1] / "data"
CATALOG = DATA / "catalog.jsonl.bz2"
CATALOG_SLICE = DATA / "catalog-slice.jsonl.bz2"

# As RFC 4180 has it: within quotes a quote is doubled, and a line may break.
CSV = {"header": "true", "inferSchema": "true", "escape": '"', "multiLine": "true"}
FORMATS = {
    ".csv": ("csv", CSV),
    ".json": ("json", {}),
    ".jsonl": ("json", {}),
    ".ndjson": ("json", {}),
    ".orc": ("orc", {}),
    ".parquet": ("parquet", {}),
}

# Not .lz4: as its own program writes it Hadoop cannot read it, and the JVM ends over it.
PACKED = (".bz2", ".gz", ".zst")

TABLE = "table:"
"""Before the name of a table of the session's catalog."""


class UnreadableDataset(ValueError):
    """What is at a path is not there, or not what its name says; the message says which."""


def format_of(path: str) -> tuple[str, dict[str, str]]:
    """Spark's format and options for *path*, by its suffix, a compression's aside; ValueError if unknown."""
    suffix = files.suffix(path, PACKED)
    if suffix not in FORMATS:
        raise ValueError(f"{path}: a dataset's name ends in one of {files.known(FORMATS, PACKED)}")
    return FORMATS[suffix]


def read_dataset(spark: SparkSession, path: str, limit: int | None = None) -> DataFrame:
    """The rows of *path*, or of ``table:NAME``, the first *limit* if given; a malformed row stops the job."""
    rows = spark.read.table(path.removeprefix(TABLE)) if path.startswith(TABLE) else _load(spark, path)
    return rows if limit is None else rows.limit(limit)


def _load(spark: SparkSession, path: str) -> DataFrame:
    name, options = format_of(path)
    reader = spark.read.format(name).options(**options)
    if name in ("csv", "json"):
        reader = reader.option("mode", "FAILFAST")
    if Path(path) in (CATALOG, CATALOG_SLICE):
        reader = reader.schema(schemas.CATALOG)
    try:
        return reader.load(path)
    except FAILURES as error:
        raise UnreadableDataset(f"{path}: {sentence(str(error))}") from error
