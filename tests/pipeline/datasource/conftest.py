"""The data source, and the options that name its tables."""

from __future__ import annotations

import pytest

from pipeline.datasource import FaninSource


@pytest.fixture
def access(spark, tables):
    spark.dataSource.register(FaninSource)
    return {
        "tenant": "tenant",
        "batchesTable": tables.batches,
        "pagesTable": tables.pages,
        "region": tables.region,
        "endpointUrl": tables.endpoint,
    }
