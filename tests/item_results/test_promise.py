"""Each item that succeeded and returned something has one result, the same at every read after the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import Conflict, InvalidRequest, NotFound
from fanin.item_results.service import Results
from fanin.result_texts import result_text
from fanin.tracker import OpenBatch, Outcome, Tracker, Verdict
from fanin.tracker.batch_changes.reopening import ReopenBatch
from fanin.tracker.memory import MemoryStore
from tests.item_results.conftest import TENANT, Site
from tests.tracker.calls import Clock


def test_results_are_read_in_the_order_of_the_items(site):
    for index in reversed(range(20)):
        site.ack((index, f'{{"n":{index}}}'))
    site.close()

    assert list(site.read().items()) == [(index, {"n": index}) for index in range(20)]


def test_an_item_that_returned_nothing_has_no_result(site):
    site.ack(*((index, "1" if index % 2 else None) for index in range(20)))
    site.close()

    assert set(site.read()) == set(range(1, 20, 2))


def test_no_part_is_written_where_nothing_is_returned(site):
    site.ack(*((index, None) for index in range(20)))
    site.close()
    site.fail(3)

    assert site.objects.stored == {}


def test_a_run_that_came_twice_has_one_result_and_it_stays(site):
    site.ack(*((index, '"first"') for index in range(20)))
    site.ack((3, '"again"'))
    site.close()
    found = site.read()

    assert found[3] == "first"
    site.results.keep(site.batch.key, [])
    assert site.read() == found


def test_a_failed_item_has_none_although_a_run_of_it_returned(site):
    site.results.keep(site.batch.key, site_results(site, 0, 5))
    site.fail(5)
    site.ack(*((index, "1") for index in range(20) if index != 5))
    site.close()

    assert set(site.read()) == set(range(20)) - {5}


def test_a_healed_item_has_its_result(site):
    site.fail(5)
    site.ack(*((index, str(index)) for index in range(20)))
    site.close()

    assert site.read()[5] == 5


def test_a_worker_that_crashed_before_its_ack_changes_nothing(site):
    site.results.keep(site.batch.key, site_results(site, 1, 2))
    site.ack(*((index, '"acked"') for index in range(20) if index not in {1, 2}))
    site.tracker.cancel(TENANT, site.batch_id)

    assert set(site.read()) == set(range(20)) - {1, 2}


def test_what_a_zombie_writes_after_the_end_is_never_read(site):
    site.ack(*((index, '"ended"') for index in range(20) if index != 9))
    site.tracker.cancel(TENANT, site.batch_id)
    before = site.tracker.manifest(site.batch)
    site.ack((9, '"late"'))
    site.results.keep(site.batch.key, site_results(site, 9))

    assert site.tracker.manifest(site.batch) == before
    assert 9 not in site.read()


def test_an_ack_that_meets_the_end_is_late_and_its_item_is_left_and_not_done_without_its_result():
    site = Site(4, min_succeeded=2)
    other = replace(site.tracker, fresh_for=timedelta(days=1), _known={})
    other.ack(TENANT, [site.ack_of(0, "0")])  # it knows the batch as live from here on
    site.ack((1, "1"))
    site.tracker.manifest(site.batch)
    (late,) = other.ack(TENANT, [site.ack_of(2, "2")]).results

    assert late.verdict is Verdict.LATE
    assert site.read() == {0: 0, 1: 1}
    assert [(each.first, each.last) for each in site.tracker.outstanding(site.batch).ranges] == [(2, 3)]


def test_results_are_refused_until_the_end(site):
    site.ack((0, "1"))

    with pytest.raises(Conflict, match="once it has ended"):
        site.gathered()


def test_a_result_for_a_batch_that_keeps_none_is_refused_before_anything_is_acked():
    site = Site(2)
    other = site.tracker.open(TENANT, OpenBatch())
    group = site.tracker.add(TENANT, other.batch_id, 1).groups[0].id
    ack = site.ack_of(0, "1")
    with pytest.raises(InvalidRequest, match="keeps no results"):
        site.tracker.ack(TENANT, [ack, type(ack)(other.batch_id, group, 0, 0, "caller", result="1")])

    assert site.tracker.progress(site.batch).acked == 0
    assert not site.objects.stored


@pytest.mark.parametrize(
    "given", [{"last": 1}, {"outcome": Outcome.FAILURE}, {"result": '"' + "x" * 65_536 + '"'}], ids=str
)
def test_only_one_done_item_has_a_result_and_a_bounded_one(site, given):
    fields = {"first": 0, "last": 0, "caller": "c", "result": "1"} | given
    with pytest.raises(InvalidRequest, match="result"):
        type(site.ack_of(0))(site.batch_id, site.group, **fields)


def test_a_deployment_without_results_refuses_the_option():
    with pytest.raises(InvalidRequest, match="results=True"):
        Tracker(MemoryStore()).open(TENANT, OpenBatch(results=True))


def test_a_process_without_a_bucket_refuses_a_result_before_the_work_is_over(site):
    site.tracker.results = None

    with pytest.raises(InvalidRequest, match="this process keeps no results"):
        site.tracker.verdicts(TENANT, [site.ack_of(1, "1")])
    assert site.tracker.verdicts(TENANT, [site.ack_of(1)]).results


def test_a_bulk_delete_without_a_bucket_leaves_the_batches_whose_results_it_could_not_remove(site):
    for batch_id in (site.batch_id, site.tracker.open(TENANT, OpenBatch()).batch_id):
        site.tracker.confirm(site.tracker.cancel(TENANT, batch_id))
    site.tracker.results = None
    deleted = site.tracker.delete_ended(TENANT, site.tracker.now())

    assert (deleted.count, deleted.unconfirmed) == (1, 1)
    assert site.batch.deleted_at is None


def test_a_batch_with_results_is_not_reopened_without_a_bucket(site):
    site.fail(1)
    site.tracker.cancel(TENANT, site.batch_id)
    site.tracker.results = None

    with pytest.raises(InvalidRequest, match="this process keeps no results"):
        site.tracker.reopen(TENANT, ReopenBatch(origin_batch_id=site.batch_id), "caller")


def test_an_estimated_batch_keeps_no_results():
    with pytest.raises(InvalidRequest, match="estimated"):
        OpenBatch(results=True, mode="estimated")


def test_one_item_is_looked_up(site):
    site.ack(*((index, str(index)) for index in range(20) if index != 7))
    site.fail(7)
    site.close()
    index = site.gathered()
    key = site.batch.key

    def of(position):
        from fanin.tracker.rules.model import ItemKey

        return site.results.of_item(index, ItemKey(key, position))

    assert of(12) == (f"{site.batch_id}:{site.group}:12", 12)
    assert of(7) is None


def test_a_delete_removes_the_results_of_its_batch_alone(site):
    other = site.tracker.open(TENANT, OpenBatch(results=True))
    group = site.tracker.add(TENANT, other.batch_id, 1).groups[0].id
    site.tracker.ack(TENANT, [type(site.ack_of(0))(other.batch_id, group, 0, 0, "c", result="1")])
    site.ack(*((index, "1") for index in range(20)))
    site.close()
    site.gathered()
    site.tracker.confirm(site.batch)
    site.tracker.delete(TENANT, site.batch_id)

    assert {name.split("/")[2] for name in site.objects.stored} == {other.batch_id}
    with pytest.raises(NotFound):
        site.gathered()


def test_two_tenants_share_no_folder(site):
    names = Results(site.objects)
    key = site.batch.key
    names.keep(type(key)("t/" + key.batch_id, key.batch_id), [])

    assert not any(name.startswith(f"results/t/{key.batch_id}/") for name in site.objects.stored)


def site_results(site, *indexes):
    from fanin.tracker.rules.model import ItemResult

    return [ItemResult(f"{site.batch_id}:{site.group}:{index}", '"zombie"') for index in indexes]


def nested(levels):
    value = "]["
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [0, False, "", [], {}, "\ud800", "[" * 200, nested(100)], ids=ascii)
def test_each_value_of_json_but_null_is_a_result_and_is_read_as_it_was(site, value):
    site.ack((3, result_text(value)))
    site.tracker.cancel(TENANT, site.batch_id)

    assert site.read() == {3: value}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, nested(101), nested(5_000), 10**5_000], ids=type)
def test_what_readers_could_not_parse_is_no_result(value):
    with pytest.raises(InvalidRequest, match="result"):
        result_text(value)


def test_a_reader_of_a_batch_that_is_deleted_meanwhile_finds_no_batch_and_not_none_of_its_results(site):
    site.ack(*((index, "1") for index in range(20)))
    site.close()
    seen = site.batch
    site.tracker.confirm(seen)
    site.tracker.delete(TENANT, site.batch_id)

    with pytest.raises(NotFound):
        site.results.gathered(seen, site.tracker.store)


class Forgetting(MemoryStore):
    """Has deleted the confirmations that expired by now, as DynamoDB's TTL does."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.until = clock, {}

    def confirm(self, key, expires_at):
        self.until[key] = expires_at

    def is_confirmed(self, key):
        return key in self.until and self.clock() < self.until[key]


def test_results_go_with_their_batch_although_the_confirmation_of_its_event_has_expired(site):
    clock = Clock()
    site.tracker.store, site.tracker.now = Forgetting(clock), clock
    batch = site.tracker.open(TENANT, OpenBatch(results=True))
    site.results.keep(batch.key, site_results(site, 1))
    site.tracker.confirm(site.tracker.cancel(TENANT, batch.batch_id))
    clock.at += timedelta(days=8)
    site.tracker.sweep()

    assert not site.objects.stored
    assert not site.tracker.store.notices


def test_a_sweep_without_a_bucket_says_that_the_results_of_an_expired_batch_stay(site, caplog):
    clock = Clock()
    site.tracker.now = clock
    batch = site.tracker.open(TENANT, OpenBatch(results=True))
    site.tracker.confirm(site.tracker.cancel(TENANT, batch.batch_id))
    site.tracker.results = None
    clock.at += timedelta(days=8)

    assert not site.tracker.sweep().failed
    assert f"the results of batch {batch.batch_id} stay" in caplog.text
