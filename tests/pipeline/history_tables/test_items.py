"""The acks in the archive are the acks that were done: parity of images with the tracker."""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path

import pytest

from pipeline.history_tables.change_frames.archive import Archive, Days
from pipeline.history_tables.change_frames.reading import changes
from pipeline.history_tables.items import counted, filled, items, positioned, throughput
from pipeline.history_tables.lifecycle import batches
from tests.pipeline.history_tables.histories import cast


class Seen:
    """What is read of an archive, as rows."""

    def __init__(self, spark, folder: str) -> None:
        archive = Archive(folder)
        pages = changes(spark, archive, "pages", Days()).cache()
        known = batches(changes(spark, archive, "batches", Days()))
        self._pages, self._found = pages, positioned(items(pages), known)

    @cached_property
    def items(self):
        return self._found.collect()

    @cached_property
    def seconds(self):
        return throughput(self._found, counted(self._pages)).collect()

    @cached_property
    def filled(self):
        return {row.batch_id: (row.pages, row.acked) for row in filled(self._pages).collect()}

    def of(self, batch):
        """(acked at, failed, healed) of each item of a batch, by its place."""
        rows = [row for row in self.items if row.batch_id == batch.batch_id]
        assert len({row.position for row in rows}) == len(rows)
        return {row.position: (row.acked_at.timestamp(), row.failed, row.healed) for row in rows}

    def acked(self, batch):
        """(acked, failed) of each second of a batch."""
        rows = [row for row in self.seconds if row.batch_id == batch.batch_id]
        return [(row.acked, row.failed) for row in sorted(rows, key=lambda row: row.second)]


@pytest.fixture(scope="module")
def seen(spark):
    return Seen(spark, cast().archive)


def first_acks(batch):
    """When each item was first acked, as the log of all acks has it."""
    found: dict[int, float] = {}
    for row in batch.log:
        found.setdefault(int(row["item_id"].split(":")[2]), row["at"] // 1000)
    return found


@pytest.mark.parametrize(
    "name", ["well", "with failures", "ended by failures", "timed out", "cancelled", "open"]
)
def test_the_acks_recovered_from_images_are_the_acks_that_were_done(seen, name):
    batch = cast()[name]

    assert {position: at for position, (at, *_) in seen.of(batch).items()} == first_acks(batch)


def test_a_failure_stays_one_unless_a_success_heals_it_also_where_pages_were_acked_at_one_go(seen):
    some, folded = (seen.of(cast()[name]) for name in ("with failures", "folded"))

    assert {position for position, (_, failed, _) in some.items() if failed} == {0, 1, 2, 3}
    assert {position for position, (*_, healed) in some.items() if healed} == {4}
    assert folded.keys() == set(range(200))
    assert {position for position, (*_, healed) in folded.items() if healed} == set(range(7))
    assert not any(failed for _, failed, _ in folded.values())


def test_the_end_of_a_nested_batch_is_an_ack_of_its_parents_item(seen):
    parent = cast()["parent"]
    acked_at = {position: at for position, (at, *_) in seen.of(parent).items()}

    assert acked_at.keys() == {0, 1}
    assert acked_at[1] == acked_at[0] + 5


def test_acks_that_are_only_counted_have_no_items_and_are_counted_as_often_as_they_came(seen):
    batch = cast()["estimated"]

    assert seen.of(batch) == {}
    assert seen.acked(batch) == [(4, 0)] * 3
    assert seen.filled[batch.batch_id] == (1, 12)


def test_pages_in_any_order_and_more_than_once_give_the_same_and_of_an_unknown_batch_all_but_the_place(
    spark, seen, tmp_path
):
    folder = tmp_path / "changes"
    shutil.copytree(Path(cast().archive) / "table=pages", folder / "table=pages")
    for number, path in enumerate(sorted(folder.rglob("*.gz"))):
        shutil.copy(path, path.with_name(f"{9999 - number}-again.jsonl.gz"))
        path.rename(path.with_name(f"{5000 - number}.jsonl.gz"))
    again = Seen(spark, str(folder))

    assert {row.position for row in again.items} == {None}
    assert facts(again) == facts(seen)
    assert sorted(again.seconds) == sorted(seen.seconds)
    assert again.filled == seen.filled


def facts(seen):
    """The facts of all items but for their places."""
    return sorted((row.batch_id, row.acked_at, row.failed, row.healed) for row in seen.items)


@pytest.mark.proof
def test_an_archive_without_pages_has_no_item(spark, tmp_path):
    none = Seen(spark, str(tmp_path))

    assert (none.items, none.seconds, none.filled) == ([], [], {})
