"""The frames that pass between transforms, columns by name."""

from __future__ import annotations

from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

CATALOG = StructType(
    [
        StructField("name", StringType()),
        StructField("version", StringType()),
        StructField("section", StringType()),
        StructField("maintainer", StringType()),
        StructField("size", LongType()),
        StructField("depends", StringType()),
    ]
)
"""A row of the bundled catalog; *size* in bytes."""

STARTS = StructType([StructField("part", IntegerType(), False), StructField("start", LongType(), False)])
"""The position of each manifest part's first row."""
