"""The inputs of the Spark benchmark are what its page says; the page has a place for each result."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lab.pages import results
from lab.pages.page import FOLDER, rendered
from lab.spark import inputs, report
from lab.spark.report import Found, Measured, keep_all
from pipeline.bulk_ack import logs as ack_logs
from pipeline.bulk_ack.fold import Folder
from pipeline.shared_by_jobs import bitmaps

ROWS = 10_000
SECONDS = {
    "spark": 2.0,
    "spark-numpy": 4.0,
    "spark-acks": 3.0,
    "duckdb": 4.0,
    "polars": 3.0,
    "polars-numpy": 1.0,
}


class Registry:
    def __init__(self, batch):
        self.batch = batch

    def get(self, key):
        return self.batch if key == self.batch.key else None


def test_one_ack_in_twenty_is_a_repetition_and_none_is_beyond():
    items = Counter(inputs.indexes(0, ROWS, ROWS).tolist())

    assert (min(items), max(items) < ROWS, max(items.values())) == (0, True, 2)
    assert len(items) == ROWS - ROWS // 20


@pytest.mark.parametrize(("form", "before"), [("texts", 0), ("integers", 0), ("ranges", 0), ("ranges", 1)])
def test_the_job_folds_the_logs_to_the_items_that_they_have(tmp_path, form, before):
    written = inputs.write_logs(tmp_path / "logs", ROWS, form, before)
    logs = inputs.read_logs(tmp_path / "logs")
    folder = Folder(Registry(logs.batch), inputs.TENANT)

    for path in sorted(written.folder.iterdir()):
        assert not [row for one in ack_logs.read(str(path)) for row in folder.take(one, str(path))]
    (found,) = (fold.succeeded for fold in folder._folds.values())
    pages, masks = bitmaps.pages_of(*found.blocks())

    rows, size = np.unique(inputs.indexes(0, ROWS, ROWS)), inputs.RANGE if form == "ranges" else 1
    items = before + np.repeat(rows * size, size) + np.tile(np.arange(size), rows.size)
    assert np.array_equal(bitmaps.positions(pages, masks, 1024), items)


@pytest.fixture
def found():
    ways = [
        Measured(way, rows, 20.0, seconds * rows / 1e7 + 1, 5.0, 900.0)
        for way, seconds in SECONDS.items()
        for rows in (10_000_000, 40_000_000)
    ]
    files = [Measured(way, 2_000_000, 30.0, 10.0, 9.0, 1000.0) for way in report.NAMES if "files" in way]
    alone = [Measured("spark", 1_000_000_000, 220.0, 200.0, 210.0, 1100.0)]
    return Found([*ways, *files], alone, Measured("spark-files", 2_000_000, 30.0, 16.0, 10.0, 1000.0))


def test_the_page_has_a_place_for_each_result(found, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "PACKAGES", ["pyspark"])
    result = keep_all(found, "command", 1)

    page = rendered((FOLDER / "spark.md").read_text(), result)

    assert "<!-- figure: spark-slope -->5.0<!-- end -->" in page
    assert "| bulk_ack --dry-run | 9.0 | 4,444,444 | 900 |" in page
    assert "<!-- figure: files-on-two -->200,000<!-- end -->" in page
    assert [target.is_met for target in result.targets] == [False, False, False, False, True, False]
    assert result.targets[4].measured == "1.12"
