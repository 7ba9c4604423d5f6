"""The estimate of what a batch has cost so far, beside what a batch costs on moto."""

from __future__ import annotations

from datetime import timedelta

import pytest
from moto import mock_aws

from fanin.cost.batch import API, FAILURE, LIFECYCLE, QUEUE, TABLES, WAYS, Way, batch_costs
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, OpenBatch, Outcome, Tracker
from fanin.tracker.dynamodb import DynamoStore
from lab.cost.units import UnitMeter
from tests.contract import moto_clients
from tests.contract.tables import TABLES as NAMES
from tests.contract.tables import create_tables

PAGE, ITEMS = 20, 60


class Measured:
    """A batch on moto, and the units of its requests."""

    def __init__(self, **more) -> None:
        client, uncounted = moto_clients.client("dynamodb"), moto_clients.client("dynamodb")
        create_tables(uncounted)
        store = DynamoStore(client, Tables(*NAMES))
        self.tracker = Tracker(store, page_bits=PAGE, fresh_for=timedelta(hours=1))
        self.meter = UnitMeter(uncounted).attach(client)
        self.batch = self.tracker.open("t", OpenBatch(user_key="orders"), key="k").batch_id
        self.group = self.tracker.add("t", self.batch, ITEMS, key="a").groups[0].id

    def units(self):
        return self.meter.writes, self.meter.reads

    def ack(self, first, last, **more):
        self.tracker.ack("t", [Ack(self.batch, self.group, first, last, "me", **more)])


@pytest.fixture
def measured():
    with mock_aws():
        yield Measured()


@pytest.mark.parametrize("together", [1, 10])
def test_acks_cost_what_is_estimated(measured, together, monkeypatch):
    monkeypatch.setattr("fanin.cost.fan_out.PAGE_ITEMS", PAGE)
    before, _ = measured.units()
    for first in range(0, ITEMS - PAGE, together):
        measured.ack(first, first + together - 1)
    writes = measured.units()[0] - before

    estimated = Way(TABLES, together).usage(ITEMS - PAGE, 0) - LIFECYCLE
    assert writes == estimated.units["write_unit"]
    assert estimated.units["read_unit"] == 0


def test_a_failure_costs_what_is_estimated(measured):
    measured.ack(0, 0)
    before = measured.units()
    measured.ack(1, 1, outcome=Outcome.FAILURE, reason="boom")
    after = measured.units()

    assert (after[0] - before[0], after[1] - before[1]) == (
        FAILURE.units["write_unit"],
        FAILURE.units["read_unit"],
    )


def test_the_rest_of_a_batch_costs_at_most_what_is_estimated(measured):
    measured.tracker.close("t", measured.batch, "me")
    measured.ack(0, ITEMS - 1)
    measured.tracker.confirm(measured.tracker.get("t", measured.batch))
    writes, reads = measured.units()
    acked = Way(TABLES, PAGE).usage(ITEMS, 0).units["write_unit"] - LIFECYCLE.units["write_unit"]

    assert LIFECYCLE.units["write_unit"] * 0.5 < writes - acked <= LIFECYCLE.units["write_unit"]
    assert reads <= LIFECYCLE.units["read_unit"]


def test_the_more_items_together_the_less_it_costs():
    rows = batch_costs(1_000_000, 0)

    assert len(rows) == len(WAYS)
    for by in (TABLES, QUEUE, API):
        dollars = [row["dollars"] for row in rows if row["acksArrive"] == by]
        assert dollars == sorted(dollars, reverse=True)
    assert rows[0]["dollars"] == pytest.approx(0.626, rel=1e-3)
