"""The counts of the ways to ack are those of production's store on moto, and the orders are what they say."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from moto import mock_aws

from fanin.aws.dynamodb.meter import Meter
from fanin.settings.tracking import Tables
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from lab.cost.units import UnitMeter
from lab.ways_to_ack import measuring
from lab.ways_to_ack.bill import Function, Row, row_of, usage_of
from lab.ways_to_ack.measuring import TENANT, Site, measure
from lab.ways_to_ack.table import figures, targets
from lab.ways_to_ack.ways import ANY, IN_ORDER, QUEUE, SHUFFLED, SPARK, WAYS, Way, ordered
from tests.contract import moto_clients
from tests.contract.tables import TABLES, create_tables, deep_recursion

FUNCTION = Function(0.5, 1e-6)


class OnMoto(Site):
    """The same consumers, over production's store and moto."""

    def __post_init__(self) -> None:
        super().__post_init__()
        client, uncounted = moto_clients.client("dynamodb"), moto_clients.client("dynamodb")
        create_tables(uncounted)
        self.dynamo = DynamoStore(client, Tables(*TABLES))
        setup = Tracker(self.dynamo)
        self.batch = setup.open(TENANT, OpenBatch())
        self.group = setup.add(TENANT, self.batch.batch_id, self.items).groups[0].id
        self.units, self.meter = UnitMeter(uncounted).attach(client), Meter().attach(client)

    def tracker(self) -> Tracker:
        store = getattr(self, "dynamo", None)
        return Tracker(store, now=self.now) if store else super().tracker()


@pytest.fixture
def moto() -> Iterator[None]:
    with mock_aws(), deep_recursion():
        yield


@pytest.mark.parametrize(
    "way",
    [
        Way(7, SHUFFLED, consumers=1),
        Way(130, ANY, consumers=1),
        Way(2, consumers=1, chunk=256),
        Way(1, consumers=1, through=SPARK),
    ],
    ids=lambda way: way.name,
)
def test_the_counts_are_those_of_the_workers_requests(
    way: Way, moto: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = 150 if way.together == 7 else 1_100
    counts = measure(way, items).counts
    sites: list[OnMoto] = []

    def site(*given: Any) -> OnMoto:
        sites.append(OnMoto(*given))
        return sites[-1]

    monkeypatch.setattr(measuring, "Site", site)
    found: dict[str, float] = {}
    outstanding = Tracker.outstanding

    def stopped(self: Tracker, *given: Any) -> Any:  # before what checks that nothing is left
        found.update(
            {
                "requests": sites[0].meter.totals["requests"],
                "writes": sites[0].units.writes,
                "reads": sites[0].units.reads,
                "refused": sites[0].meter.totals["refused"],
            }
        )
        return outstanding(self, *given)

    monkeypatch.setattr(Tracker, "outstanding", stopped)
    measure(way, items)

    assert found == {name: getattr(counts, name) for name in found}


@pytest.mark.parametrize("order", [IN_ORDER, SHUFFLED, ANY])
def test_each_order_has_each_message_once(order: str) -> None:
    found = list(ordered(5_000, order, 2_000, Random(1)))

    assert sorted(found) == list(range(5_000))
    assert (found == list(range(5_000))) is (order == IN_ORDER)


def test_a_shuffled_message_is_late_by_less_than_the_window() -> None:
    found = list(ordered(5_000, SHUFFLED, 200, Random(1)))

    assert 100 < max(abs(at - number) for at, number in enumerate(found)) < 200


def test_consumers_that_meet_on_a_page_are_refused_and_lose_nothing() -> None:
    measured = measure(Way(100, SHUFFLED), 4_000, rate=1e6)

    assert measured.counts.refused > 0


def test_consumers_read_their_batch_once_in_five_seconds() -> None:
    measured = measure(Way(1, consumers=10), 1_000, rate=100)

    assert 20 <= measured.counts.reads <= 35  # ten seconds: at the start, after five, and at the end


def test_a_bill_has_what_brings_the_acks() -> None:
    direct, queue = (measure(Way(100, through=through), 2_000) for through in ("", QUEUE))
    of_direct, of_queue = usage_of(direct, FUNCTION).units, usage_of(queue, FUNCTION).units

    assert of_direct["queue_request"] == 600
    assert of_queue["queue_request"] == 1_200
    assert of_queue["invocation"] == 20
    assert "invocation" not in of_direct
    assert (
        row_of(queue, FUNCTION).dollars > row_of(direct, FUNCTION).dollars > row_of(direct, FUNCTION).tables
    )


def row(way: Way, requests: float) -> Row:
    return Row(way.name, requests, requests, 0.0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(("requests", "met"), [(0.1049, True), (0.1051, False), (0.0949, False)])
def test_a_target_is_met_if_it_is_so_to_its_digits(requests: float, met: bool) -> None:
    found = {way.name: row(way, requests) for way in WAYS}
    judged = {target.what: target for target in targets(found)}

    assert judged["tens in order, requests"].is_met is met
    assert not judged["chunks of 64, one a delivery, requests"].is_met
    assert all(target.is_met or target.reason for target in judged.values())
    assert figures(found, 100)["tens-random"] == f"{requests:.3f}"
