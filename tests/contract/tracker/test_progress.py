"""How far a batch is: within two points of the truth, from 1,024 pages of a level at most."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.aws.dynamodb.meter import Meter
from fanin.tracker import Batch, Mode, TrackerStore
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.progress import progress
from fanin.tracker.rules.model import Progress
from tests.contract.tracker.filled import SHAPES, Acked, Filled

SIZES = [10**6, 10**7, 10**8, 10**9]
PAGES_MAX = 1024


def look(store: TrackerStore, batch: Batch, shape: str, **more: object) -> tuple[Progress, int]:
    """How far a batch of a shape is said to be, and how many pages of a level were read for that."""
    filled = Filled(store, Acked(replace(batch, **more), SHAPES[shape][0]))
    return progress(filled, filled.acked.batch), max(filled.levels.values())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", SIZES)
def test_the_estimate_is_within_half_a_point(batch, total, shape):
    found, read = look(MemoryStore(), batch, shape, total=total)

    assert abs(found.estimate / total - SHAPES[shape][1]) <= 0.005
    assert found.acked <= found.estimate <= found.upper_bound
    assert read <= PAGES_MAX


def test_every_store_is_read_so(store, batch):
    shape = "in order, 40 %, 1 % of it missing"
    found, read = look(store, batch, shape, total=10**5, page_bits=64)

    assert abs(found.estimate / 10**5 - SHAPES[shape][1]) <= 0.02
    assert read <= PAGES_MAX


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", [10**6, 10**9])
def test_an_estimated_batch_is_estimated_as_well(store, batch, total, shape):
    found, read = look(store, batch, shape, total=total, mode=Mode.ESTIMATED)
    acked = Acked(replace(batch, total=total, mode=Mode.ESTIMATED), SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(-(-total // 2**20)))

    assert abs(found.estimate - truth) <= 0.02 * total
    assert not found.exact
    assert read <= PAGES_MAX


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", [2, 3, 7, 64])
def test_a_batch_of_1024_pages_is_counted_exactly(store, batch, bits, shape):
    pages = 1024 if isinstance(store, MemoryStore) else 100
    sized = replace(batch, page_bits=bits, total=pages * bits - 1)
    acked = Acked(sized, SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(pages))

    assert progress(Filled(store, acked), sized) == Progress(truth, 0, truth, truth, exact=True)


def test_a_look_at_a_billion_items_reads_a_hundred_pages_in_a_request(store, batch):
    if isinstance(store, MemoryStore):
        pytest.skip("nothing is sent")
    meter = Meter().attach(store.client)
    look(store, batch, "in order, 40 %", total=10**9)

    assert meter.totals["BatchGetItem"] == 1 + 6 + 11
