"""Leaves that are read by their keys say of each item what the stored pages say."""

from __future__ import annotations

import pytest

from fanin.tracker.rules.page import mask_of
from pipeline.shared_by_jobs import bitmaps
from pipeline.table_frames import branches
from pipeline.table_frames.branches import branches_of, read_branch
from tests.pipeline.worlds import PAGE_BITS, TOTAL, closed, complete, complete_with_failures, partly_acked

WORLDS = {"partly acked": partly_acked, "closed": closed, "ended": complete, "failed": complete_with_failures}


def states(world, rows) -> dict[int, tuple[int, int]]:
    """The bits of the items of each leaf that are acked, and that failed."""
    of = {row["page"]: [bitmaps.to_mask(row[name]) for name in ("bits", "failed")] for row in rows}
    items = {leaf: mask_of(0, min(PAGE_BITS, TOTAL - leaf * PAGE_BITS) - 1) for leaf in of}
    return {leaf: (acked & items[leaf], failed & items[leaf]) for leaf, (acked, failed) in of.items()}


@pytest.mark.parametrize("failures", [False, True])
@pytest.mark.parametrize("of", WORLDS.values(), ids=WORLDS)
def test_the_leaves_of_a_batch_are_as_they_are_stored_though_full_ones_are_not_read(
    of, failures, monkeypatch
):
    world, asked = of(), []
    read = world.store.pages
    monkeypatch.setattr(world.store, "pages", lambda keys: asked.extend(keys) or read(keys))
    rows = [
        row
        for branch in branches_of(world.batch)
        for row in read_branch(world.store, world.key, branch, failures)
    ]

    stored = {key.number: page for key, page in world.store.stored_pages.items() if key.level == 0}
    full = {leaf for leaf, page in stored.items() if page.is_full(PAGE_BITS)}
    found = states(world, rows)
    assert {leaf: acked for leaf, (acked, _) in found.items()} == {
        leaf: mask_of(0, page.n - 1) if leaf in full else page.bits for leaf, page in stored.items()
    }
    assert not failures or {leaf: failed for leaf, (_, failed) in found.items()} == {
        leaf: page.failed for leaf, page in stored.items()
    }
    assert failures or full.isdisjoint(key.number for key in asked if key.level == 0)


def test_pages_are_read_at_the_rate(monkeypatch):
    monkeypatch.setattr(branches, "LEAVES_A_READ", 2)
    world, pauses = partly_acked(), []
    *_, last = branches_of(world.batch)
    list(read_branch(world.store, world.key, last, False, 1e-3, pauses.append))

    assert [round(seconds / 1000) for seconds in pauses] == [0, 2]
