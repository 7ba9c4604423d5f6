"""The acks that images tell of are the acks that were done: parity of the archive with the tracker."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from fanin.tracker import OpenBatch, Outcome
from pipeline.history.archive import Archive, Days
from pipeline.history.items import counted, filled, items, placed, throughput
from pipeline.history.life import batches
from pipeline.history.reading import changes
from tests.pipeline.histories import Life, estimated, recorded

TOTAL = 150
"""Nineteen leaves of 8 items, the last with six; three parents and a root."""


def told(spark, folder: Path, kind: str = "pages"):
    return changes(spark, Archive(str(folder / "changes")), kind, Days())


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A batch of 150 items, acked in random order, one second an ack request; each item's ack by position."""
    folder = tmp_path_factory.mktemp("archive")
    order, chance, expected = list(range(TOTAL)), random.Random(7), {}
    chance.shuffle(order)
    with recorded(folder, "Batches", "Pages") as recorder:
        life = Life(recorder, OpenBatch(user_key="parity"))
        life.add(TOTAL)
        while order:
            some, order = order[:4], order[4:]
            outcome = Outcome.FAILURE if chance.random() < 0.2 else Outcome.SUCCESS
            life.ack(some, outcome, "why" if outcome is Outcome.FAILURE else None)
            expected |= {index: (recorder.at.replace(tzinfo=None), outcome) for index in some}
            life.ack(some[:2], outcome)
            recorder.wait(1)
        life.close()
        healed = [index for index, (_, outcome) in expected.items() if outcome is Outcome.FAILURE][:3]
        recorder.wait(5)
    return folder, life, expected, healed


def test_the_acks_recovered_from_images_are_the_acks_that_were_done(spark, lived):
    folder, _, expected, _ = lived
    rows = placed(items(told(spark, folder)), batches(told(spark, folder, "batches"))).collect()
    found = {row.position: (row.acked_at, Outcome.FAILURE if row.failed else Outcome.SUCCESS) for row in rows}

    assert len(rows) == TOTAL
    assert found == expected
