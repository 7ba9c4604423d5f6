"""The inputs of the reconcile benchmark are what its page says; the page has a place for each result."""

from __future__ import annotations

import numpy as np
import pytest

from lab.pages import results
from lab.pages.page import FOLDER, rendered
from lab.reconcile import inputs
from lab.reconcile.inputs import IN_PLACES, SCATTERED
from lab.reconcile.report import Measured, keep_all
from pipeline.shared_by_jobs import bitmaps
from pipeline.table_frames import export
from pipeline.table_frames.rows import read_row

ITEMS = 1_000_000


@pytest.mark.parametrize("missing", [1, 137, 1000])
@pytest.mark.parametrize("spread", [IN_PLACES, SCATTERED])
def test_so_many_items_are_outstanding(spread, missing):
    found = inputs.outstanding_items(spread, ITEMS, missing)

    assert (np.diff(found) > 0).all()
    assert (found.size, found[0] >= 0, found[-1] < ITEMS) == (missing, True, True)


def test_the_exports_have_all_leaves_with_all_items_acked_but_those(tmp_path):
    outstanding = np.array([3, 2047, 2048, 5000])
    exported = inputs.write_exports(tmp_path, 5001, outstanding)

    files = export.describe(exported.pages).files
    pages = [read_row(line.item)[0] for file in files for line in export.lines(file)]
    pages.sort(key=lambda page: page["page"])
    acked = bitmaps.as_rows(page["bits"] for page in pages)
    unacked = bitmaps.item_masks(np.arange(5), 1024, 5001) & ~acked
    assert bitmaps.positions(np.arange(5), unacked, 1024).tolist() == outstanding.tolist()
    assert [page["size"] for page in pages] == [None] * 4 + [905]
    (batch,) = (line.item for file in export.describe(exported.batches).files for line in export.lines(file))
    assert read_row(batch)[1]["state"] == "CLOSED"


def test_the_page_has_a_place_for_each_result(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    runs = [Measured(IN_PLACES, 10**9, 1000, 60.2, 90.0, 2 << 30)]
    runs.append(Measured(SCATTERED, 10**9, 1000, 125.0, 200.0, 2 << 30))

    result = keep_all(runs, "command")
    missed = "\n<!-- targets -->\n<!-- end -->\n"
    page = rendered((FOLDER / "reconcile.md").read_text() + missed, result)

    assert "| 1,000,000,000 | 1,000 in ten places | 60 | 90 | 16,611,296 | 2.0 |" in page
    assert "| under 120 s | 125 s |" in page
    assert [(target.measured, target.is_met) for target in result.targets] == [("125 s", False)]
