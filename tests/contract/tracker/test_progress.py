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

SIZES = [10**6, 10**8]
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


@pytest.mark.parametrize("shape", SHAPES)
def test_an_estimated_batch_is_estimated_as_well(batch, shape):
    total = 10**9
    found, read = look(MemoryStore(), batch, shape, total=total, mode=Mode.ESTIMATED)
    acked = Acked(replace(batch, total=total, mode=Mode.ESTIMATED), SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(-(-total // 2**20)))

    assert abs(found.estimate - truth) <= 0.02 * total
    assert not found.exact
    assert read <= PAGES_MAX


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", [2, 7, 64])
def test_a_batch_of_1024_pages_is_counted_exactly(batch, bits, shape):
    sized = replace(batch, page_bits=bits, total=1024 * bits - 1)
    acked = Acked(sized, SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(1024))

    assert progress(Filled(MemoryStore(), acked), sized) == Progress(truth, 0, truth, truth, exact=True)


def test_every_store_is_read_so_and_a_hundred_pages_in_a_request(store, batch):
    meter = None if isinstance(store, MemoryStore) else Meter().attach(store.client)
    filled = Filled(store, Acked(replace(batch, total=20_000, page_bits=64), SHAPES["at random, 50 %"][0]))
    found = progress(filled, filled.acked.batch)

    assert (found.estimate, found.exact) == (sum(map(filled.acked.count, range(313))), True)
    assert filled.levels == {2: 1, 1: 5, 0: 313}
    assert meter is None or meter.totals["BatchGetItem"] <= 1 + 1 + 5
