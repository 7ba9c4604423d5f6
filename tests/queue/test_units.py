"""What the sweep reads of queues in read units a minute, and 10,000 jobs a second in write units."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from moto import mock_aws

from fanin.cost.rules import index_units, write_units
from fanin.queue import Effects, MemoryDoorbell, NewJob, Options, Queue, QueueContext
from fanin.queue.administration.counting import COUNTED_MAX
from fanin.queue.administration.part_reads import LOOK_ROWS
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.rules.keys import PartKey, part_of
from lab.requests.queue_reads import QUEUE, described, index_bytes, swept, table, units, visited, waiting_job
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.item_ids import item_named
from tests.queue.conftest import KEY, expects

PART = PartKey(QUEUE, 0)


def test_a_visit_to_a_queue_with_few_jobs_reads_each_part_once():
    assert visited(0) == visited(LOOK_ROWS * 8 - 8) == 1 + 1 + 8 + 8 + 8 / 2


def test_the_dead_jobs_are_read_in_one_of_five_visits():
    assert visited(0, known_dead=0) == visited(0) - 8 / 2
    assert swept(0) == visited(0) - 0.8 * 8 / 2 + 1


def test_a_thousand_sleeping_queues_cost_less_than_a_dollar_a_month():
    costs = {name: (read, paid) for name, read, paid in table()}

    assert costs["1,000 sleeping queues"] < (20, 1)


@pytest.mark.parametrize("jobs", [10**5, 10**6, 10**7])
@pytest.mark.parametrize("parts", [8, 256])
def test_the_reads_of_a_visit_are_bounded_whatever_the_number_of_jobs(jobs, parts):
    counted = units(COUNTED_MAX + 1, index_bytes(waiting_job(PART)), consistent=False)

    assert visited(jobs, parts) <= 3.5 + 5 * parts + counted
    assert visited(jobs, parts) <= (130 if parts == 8 else 1400)


@pytest.mark.parametrize("jobs", [10**3, 10**5, 10**7])
@pytest.mark.parametrize("parts", [8, 256])
def test_the_reads_of_a_status_are_bounded_whatever_the_number_of_jobs(jobs, parts):
    counted = units(COUNTED_MAX + 1, index_bytes(waiting_job(PART)), consistent=False)

    assert counted < 100
    assert described(jobs, parts) <= 1.5 + 3.5 * parts + counted


def test_the_page_has_the_table():
    page = (Path(__file__).parents[2] / "docs" / "how_the_queue_works.md").read_text()

    for name, read, paid in table():
        assert f"| {name} | {read:,.1f} | {paid:,.2f} |" in page


UNITS_A_PARTITION, RATE = 1000, 10_000


class Counted:
    """A client that counts the write units of each kind of partition: the first character of its key."""

    def __init__(self, client):
        self.client, self.units = client, Counter()
        table = client.describe_table(TableName=QUEUE_TABLE)["Table"]
        (self.index,) = table["LocalSecondaryIndexes"]

    def __getattr__(self, name):
        call = getattr(self.client, name)
        if name == "transact_write_items":
            return lambda **more: self._count(call, more, more["TransactItems"], 2)
        if name in {"put_item", "update_item", "delete_item"}:
            return lambda **more: self._count(call, more, [{name: more}], 1)
        return call

    def _count(self, call, request, actions, factor):
        keys = [key_of(action) for action in actions]
        before = [self._row(key) for key in keys]
        answer = call(**request)
        for key, old in zip(keys, before, strict=True):
            new = self._row(key)
            units = write_units(old, new) + index_units(old, new, self.index)
            self.units[key["pk"]["S"].split("#")[0]] += factor * units
        return answer

    def _row(self, key):
        return self.client.get_item(TableName=QUEUE_TABLE, Key=key, ConsistentRead=True).get("Item")


def key_of(action):
    ((_, request),) = action.items()
    row = request.get("Item") or request["Key"]
    return {"pk": row["pk"], "sk": row["sk"]}


@pytest.fixture
def counted():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        yield Counted(client)


def queue_on(counted, **options):
    effects = Effects(each=lambda call, values: [call(value) for value in values])
    context = QueueContext(
        DynamoStore(counted, QUEUE_TABLE),
        MemoryDoorbell(),
        KEY,
        Options(parts=1, **options),
        effects,
        report=lambda _: None,
    )
    queue = Queue(context, lambda duties: lambda: None)
    queue.context.config()
    with queue.take(wait=0):  # the session
        counted.units.clear()
    return queue


def units_of(counted, job, **options) -> Counter[str]:
    """The units of a job from its add to its end."""
    queue = queue_on(counted, **options)
    queue.add(job)
    with queue.take(wait=0, parts=[0]) as jobs:
        assert len(jobs) == 1
    return counted.units


PAYLOAD = "x" * 300


def test_a_job_costs_its_part_seven_units_and_one_with_an_item_nine(counted):
    assert units_of(counted, NewJob("a", PAYLOAD)) == {"J": 7}
    assert units_of(counted, NewJob("b", PAYLOAD, item_id=item_named("item"))) == {"J": 9, "T": 3}


def test_a_dead_job_costs_its_part_nine_units_and_the_partition_of_the_dead_four(counted):
    queue = queue_on(counted, max_failures=1)
    queue.add(NewJob("a", PAYLOAD))
    with expects(ZeroDivisionError), queue.take(wait=0):
        raise ZeroDivisionError

    assert counted.units == {"J": 9, "D": 4}


def busiest(parts: int, second: int) -> int:
    """The most jobs that a part gets of those of one second."""
    keys = range(second * RATE, (second + 1) * RATE)
    return max(Counter(part_of(f"job-{key}".encode(), parts) for key in keys).values())


@pytest.mark.parametrize(("parts", "each"), [(128, 7), (128, 9), (256, 9)])
def test_ten_thousand_jobs_a_second_fit_into_their_parts_on_average_and_at_256_in_each_second(parts, each):
    """The mean of a part is far below its limit; a second above it is within the burst of five minutes."""
    seconds = [busiest(parts, second) * each for second in range(5)]

    assert RATE / parts * each < 0.75 * UNITS_A_PARTITION
    assert max(seconds) < (1.1 if parts == 128 else 0.7) * UNITS_A_PARTITION
