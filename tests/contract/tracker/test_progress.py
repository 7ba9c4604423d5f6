"""How far a batch is: within two points of the truth for at most 256 pages, whatever its size and work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.aws.meter import Meter
from fanin.tracker import Batch, Mode, State, TrackerStore
from fanin.tracker.memory import MemoryStore
from fanin.tracker.model import Progress
from fanin.tracker.progress import PAGES_A_LOOK, progress
from tests.contract.tracker.filled import SHAPES, Acked, Filled

SIZES = [10**6, 10**7, 10**8, 10**9]


def look(store: TrackerStore, batch: Batch, shape: str, **more: object) -> tuple[Progress, int]:
    """How far a batch of a shape is said to be, and how many pages were read for that."""
    filled = Filled(store, Acked(replace(batch, **more), SHAPES[shape][0]))
    return progress(filled, filled.acked.batch), filled.read


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", SIZES)
def test_the_estimate_is_within_two_points_for_at_most_256_pages(batch, total, shape):
    found, read = look(MemoryStore(), batch, shape, total=total)

    assert abs(found.estimate / total - SHAPES[shape][1]) <= 0.02
    assert found.acked <= found.estimate <= found.upper_bound
    assert read <= PAGES_A_LOOK == 256


@pytest.mark.parametrize("shape", SHAPES)
def test_every_store_is_read_so(store, batch, shape):
    found, read = look(store, batch, shape, total=10**6, page_bits=64)

    assert abs(found.estimate / 10**6 - SHAPES[shape][1]) <= 0.02
    assert read <= PAGES_A_LOOK


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", [10**6, 10**9])
def test_an_estimated_batch_is_estimated_as_well(store, batch, total, shape):
    found, read = look(store, batch, shape, total=total, mode=Mode.ESTIMATED)
    acked = Acked(replace(batch, total=total, mode=Mode.ESTIMATED), SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(-(-total // 2**20)))

    assert abs(found.estimate - truth) <= 0.02 * total
    assert not found.exact
    assert read <= PAGES_A_LOOK


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", [2, 3, 7, 64])
def test_a_batch_of_100_pages_is_counted_exactly(store, batch, bits, shape):
    sized = replace(batch, page_bits=bits, total=100 * bits - 1)
    acked = Acked(sized, SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(100))

    assert progress(Filled(store, acked), sized) == Progress(truth, 0, truth, truth, exact=True)


def test_a_batch_that_0_1_ended_by_its_failures_as_complete_is_counted(store, batch):
    found, _ = look(
        store, batch, "at random, 50 %", total=5000, state=State.COMPLETE, max_failures=3, failed=3
    )

    assert found.exact
    assert 2200 < found.acked == found.estimate < 2800


def test_a_look_at_a_billion_items_is_256_keys_of_four_requests(store, batch):
    if isinstance(store, MemoryStore):
        pytest.skip("nothing is sent")
    meter = Meter().attach(store.client)
    look(store, batch, "in order, 40 %", total=10**9)

    assert meter.totals["BatchGetItem"] == 1 + 1 + 2
