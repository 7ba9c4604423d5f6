"""Reads the results of an ended batch: one task per file of them, in the order of the items."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import boto3
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.aws.forking import cache_per_process
from fanin.item_results import lines
from fanin.item_results.s3 import BucketObjects
from fanin.item_results.service import Results
from fanin.pacing import each_in_threads, pause
from fanin.tracker import BatchKey
from pipeline.datasource.items import readable_batch
from pipeline.datasource.options import ReadingResults
from pipeline.shared_by_jobs import schemas
from pipeline.table_frames.tables import RETRIES

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

LONGEST_PAUSE_AT = 8
ROWS_A_BATCH = 10_000


@dataclass(frozen=True)
class ResultFile(InputPartition):
    """A file of results in the bucket."""

    name: str


@dataclass(frozen=True)
class ResultReader(DataSourceReader):
    """Reads the results of a batch; the first reader after the end gathers them, on the driver."""

    request: ReadingResults

    @property
    def results(self) -> Results:
        """Return the results in the bucket, with this process's client."""
        given = self.request
        client = _client(given.access.tables.region, given.endpoint)
        return Results(BucketObjects(client, given.bucket), each_in_threads)

    def partitions(self) -> Sequence[ResultFile]:
        """Return the files. Raises NoSuchItems; Conflict for a live batch, InvalidRequest for no results."""
        access = self.request.access
        store = access.tables.store
        batch = readable_batch(store, BatchKey(access.tenant, self.request.batch_id))
        look = 0
        while (index := self.results.gathered(batch, store)) is None:
            pause(min(look, LONGEST_PAUSE_AT))  # another reader takes the same step
            look += 1
        return [ResultFile(file.name) for file in index.files]

    def read(self, partition: ResultFile) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """Yield RESULTS of one file."""
        schema = to_arrow_schema(schemas.RESULTS)
        found = lines.lines_of(gzip.decompress(self.results.file(partition.name)))
        while some := [(position, *lines.texts_of(line)) for position, line in islice(found, ROWS_A_BATCH)]:
            columns = zip(*some, strict=True)
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=schema)


@cache_per_process
def _client(region: str | None, endpoint: str | None) -> S3Client:
    return boto3.client("s3", region_name=region, endpoint_url=endpoint, config=RETRIES)
