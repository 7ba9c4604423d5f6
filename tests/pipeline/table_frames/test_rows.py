"""A row is read as the tracker itself reads it, and refused where the tracker cannot have written it."""

from __future__ import annotations

import pytest

from fanin.errors import NewerSchema
from fanin.tracker.dynamodb.items import batch_of, page_of
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import Page
from pipeline.shared_by_jobs import bitmaps, schemas
from pipeline.table_frames.rows import MalformedRow, facts_of, from_json, read_row
from tests.pipeline.exporting import batch_row, page_row, rows_of
from tests.pipeline.worlds import SOUND, closed, complete_with_failures

BATCH = "58d9d56b-8361-8f2d-866d-f2cd7edf87cc"
KEY = PageKey(BatchKey("a#b", BATCH), 1, 12)


@pytest.mark.parametrize("world", SOUND, ids=lambda world: world.__name__)
def test_a_page_is_what_the_tracker_reads_in_its_row(world):
    for key, page in world().store.stored_pages.items():
        facts, _ = read_row(page_row(key, page))

        assert (facts["tenant"], facts["batch_id"]) == (key.batch.tenant, key.batch.batch_id)
        assert (facts["level"], facts["page"]) == (key.level, key.number)
        assert {name: facts[name] for name in ("n", "size", "root", "compacted")} == {
            name: getattr(page_of(page_row(key, page)), name) for name in ("n", "size", "root", "compacted")
        }
        assert bitmaps.to_mask(facts["failed"]) == page.failed
        assert page.compacted or bitmaps.to_mask(facts["bits"]) == page.bits


@pytest.mark.parametrize("world", SOUND, ids=lambda world: world.__name__)
def test_a_batch_is_what_the_tracker_reads_in_its_row(world):
    row = batch_row(world().batch)

    _, facts = read_row(row)

    assert facts == facts_of(batch_of(row))
    assert list(facts) == schemas.BATCHES.names


@pytest.mark.parametrize(
    ("page", "acked"), [(Page(n=6, size=6, compacted=True), 6), (Page(n=1024, compacted=True), 1024)]
)
def test_all_of_a_compacted_page_is_acked(page, acked):
    facts, _ = read_row(page_row(KEY, page))

    assert facts["bits"] == bitmaps.ones(acked)


def test_a_counter_of_an_estimated_batch_counts_beyond_the_bits_of_a_page():
    facts, _ = read_row(page_row(KEY, Page(n=2**20 + 3, size=2**20, compacted=True)))

    assert (facts["n"], facts["size"], len(facts["bits"])) == (2**20 + 3, 2**20, bitmaps.MASK_BYTES)


def test_what_else_belongs_to_a_batch_is_skipped():
    receipts = [row for row in rows_of(closed().store) if row.get("sk", {}).get("S", "").startswith("add#")]

    assert [read_row(row) for row in receipts] == [(None, None)]


def test_binary_values_come_as_text_in_an_export_and_as_bytes_from_a_scan():
    row = batch_row(complete_with_failures().batch)
    from_export = {name: {"B": "AAEC"} if "B" in value else value for name, value in row.items()}

    assert from_json(from_export)["salt"] == {"B": b"\0\1\2"}
    assert from_json(row | {"salt": {"S": "x"}})["salt"] == {"S": "x"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pk": {"S": f"t#{BATCH}#0"}}, "its key is not tenant#batch#level#page"),
        ({"pk": {"S": f"t#{BATCH.upper()}#0#0"}}, "its key is not"),
        ({"pk": {"S": f"t#{BATCH}#00#0"}}, "its key is not"),
        ({"pk": {"S": f"t#{BATCH}#0#-1"}}, "its key is not"),
        ({"pk": {"N": "7"}}, "there is no S"),
        ({"d3": {"N": "64"}}, "digit d3 is 64"),
        ({"d171": {"N": "1"}}, "digit d171 is 1; there are 171"),
        ({"d170": {"N": "16"}}, "digit d170 is 16"),
        ({"x3": {"N": "-1"}}, "x3 is '-1'; expected a whole number"),
        ({"d3": {"N": "1.5"}}, "expected a whole number"),
        ({"d3": {"N": "٣"}}, "expected a whole number"),
        ({"d3": {"S": "1"}}, "there is no N"),
        ({"n": {"N": "1e3"}}, "n is '1e3'"),
        ({"size": {"S": "6"}}, "there is no N"),
        ({"n": 7}, "not subscriptable"),
    ],
)
def test_a_page_that_the_tracker_cannot_have_written_is_refused(change, message):
    with pytest.raises(MalformedRow, match=message):
        read_row(page_row(KEY, Page(1, 1)) | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": {"S": "HALF"}}, "HALF"),
        ({"total": {"S": "5"}}, "there is no N"),
        ({"salt": {"S": "x"}}, "there is no B"),
        ({"pk": {"S": f"other#{BATCH}"}}, "its key is not that of its tenant and batch"),
        ({"createdAt": {"N": "9" * 30}}, "too large"),
    ],
)
def test_a_batch_that_the_tracker_cannot_have_written_is_refused(change, message):
    with pytest.raises(MalformedRow, match=message):
        read_row(batch_row(closed().batch) | change)


def test_a_batch_of_a_newer_release_is_not_malformed():
    row = batch_row(closed().batch) | {"schemaVersion": {"N": "99"}}
    with pytest.raises(NewerSchema, match="upgrade fanin in this process"):
        read_row(row)
