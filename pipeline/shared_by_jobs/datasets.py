"""Reads a dataset of any supported format as one frame."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.shared_by_jobs import files
from pipeline.shared_by_jobs.errors import sentence

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DATA = Path(__file__).resolve().parents[2] / "data"
CATALOG = DATA / "catalog.jsonl.bz2"
CATALOG_SLICE = DATA / "catalog-slice.jsonl.bz2"

# RFC 4180: within quotes a quote is doubled, and a line may break.
CSV = {"header": "true", "inferSchema": "true", "escape": '"', "multiLine": "true"}
FORMATS = {
    ".csv": ("csv", CSV),
    ".json": ("json", {}),
    ".jsonl": ("json", {}),
    ".ndjson": ("json", {}),
    ".orc": ("orc", {}),
    ".parquet": ("parquet", {}),
}

# Not .lz4: Hadoop cannot read the files of the lz4 program, and the JVM crashes on them.
COMPRESSIONS = (".bz2", ".gz", ".zst")

TABLE = "table:"
"""The prefix of the name of a table in the session's catalog."""

LIMIT_OF_A_TASK = 1_000_000
"""The most rows of a limit that one task takes; of a table of the catalog, it takes all."""
ROWS_OF_A_PARTITION = 1 << 33
"""Spark's monotonically increasing id is this, times the partition, and the number of the row in it."""


class UnreadableDataset(ValueError):
    """A path does not exist, or its content does not match its suffix; the message says which."""


def format_of(path: str) -> tuple[str, dict[str, str]]:
    """Return Spark's format and options for *path*, by its suffix before that of a compression.

    Raises ValueError for an unknown suffix.
    """
    suffix = files.suffix(path, COMPRESSIONS)
    if suffix not in FORMATS:
        raise ValueError(f"{path}: a dataset's name ends in one of {files.known(FORMATS, COMPRESSIONS)}")
    return FORMATS[suffix]


def read_dataset(spark: SparkSession, path: str, limit: int | None = None) -> DataFrame:
    """Return the rows of *path*, or of ``table:NAME``, at most *limit*; a malformed row stops the job."""
    is_table = path.startswith(TABLE)
    rows = spark.read.table(path.removeprefix(TABLE)) if is_table else _load(spark, path)
    if limit is None:
        return rows
    return rows.limit(limit) if is_table or limit <= LIMIT_OF_A_TASK else _first(rows, limit)


def _first(rows: DataFrame, limit: int) -> DataFrame:
    """Return the first *limit* rows of files, each in its partition: Spark's own limit moves all to one."""
    # With Spark, which takes a second to import.
    from pyspark.sql import functions as F  # noqa: PLC0415

    part = F.spark_partition_id()
    counts = {row.part: row["count"] for row in rows.groupBy(part.alias("part")).count().collect()}
    before = accumulate(counts.get(number, 0) for number in range(max(counts, default=0) + 1))
    kept = [limit - upto for upto in (0, *before)]
    number_in_part = F.monotonically_increasing_id().bitwiseAND(F.lit(ROWS_OF_A_PARTITION - 1))
    return rows.where(number_in_part < F.get(F.lit(kept), part))


def _load(spark: SparkSession, path: str) -> DataFrame:
    # With Spark, which takes a second to import.
    from pipeline.shared_by_jobs import schemas  # noqa: PLC0415
    from pipeline.shared_by_jobs.session import FAILURES  # noqa: PLC0415

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
