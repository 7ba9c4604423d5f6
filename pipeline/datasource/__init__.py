"""The Spark data source `fanin`: reads items and results of a batch, writes acks, streams completion events.

    from pipeline.datasource import FaninSource
    spark.dataSource.register(FaninSource)

    tables = {"tenant": "123456789012", "batchesTable": "Batches", "pagesTable": "Pages"}
    spark.read.format("fanin").options(**tables, batchId=batch_id).load()
    spark.read.format("fanin").options(**tables, batchId=batch_id, what="results", resultsBucket=name).load()
    acks.write.format("fanin").options(**tables).mode("append").save()
    spark.readStream.format("fanin").options(**tables).load()
    acks.writeStream.format("fanin").options(**tables, checkpointLocation=path).start()

A thin layer over the functions of the jobs. docs/spark_data_source.md lists the options.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from pipeline.datasource.items import FilteredItemReader, ItemReader
from pipeline.datasource.options import Access, Reading, ReadingResults, What, Writing
from pipeline.datasource.results import ResultReader
from pipeline.datasource.stream import EventReader
from pipeline.datasource.writing import AckStreamWriter, AckWriter
from pipeline.shared_by_jobs import schemas

__all__ = ["FaninSource"]


class FaninSource(DataSource):
    """The data source `fanin`, see the module."""

    @classmethod
    def name(cls) -> str:
        return "fanin"

    def schema(self) -> StructType:
        """Return ITEMS or RESULTS if ``batchId`` is given, else EVENTS, which are read as a stream."""
        if "batchId" not in self.options:
            return schemas.EVENTS
        return schemas.RESULTS if What.of(self.options) is What.RESULTS else schemas.ITEMS

    def reader(self, schema: StructType) -> ItemReader | ResultReader:
        if What.of(self.options) is What.RESULTS:
            return ResultReader(ReadingResults.of(self.options))
        request = Reading.of(self.options)
        # Spark refuses any reader with a method pushFilters while its own setting is off, as by default.
        return FilteredItemReader(request) if request.push_down else ItemReader(request)

    def writer(self, schema: StructType, overwrite: bool) -> AckWriter:
        return AckWriter(Writing.of(self.options, overwrite))

    def streamReader(self, schema: StructType) -> EventReader:
        return EventReader(Access.of(self.options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> AckStreamWriter:
        return AckStreamWriter(Writing.of(self.options, overwrite))
