"""Failures, ends and lists as a user sees them, over each transport."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin import Conflict, KeyReused, Mode, State, Verdict
from fanin.aws.settings.settings_file import SettingsFile
from fanin.client.transports.transport import RANGED_A_REQUEST, ranged_requests_of
from fanin.tracker import Ack, ItemId
from fanin.tracker.rules.options import OnFailures, TaskToken
from functions.wiring import callbacks, deployed
from tests.client.conftest import sqs_event
from tests.client.received import received

UNKNOWN = "00000000-0000-4000-8000-00000000dead"


def verdicts(report):
    return [one.verdict for one in report.results]


def test_every_option_of_open_arrives(fanin):
    parent = fanin.open().add(1)
    batch = fanin.open(
        "k", expected_items=7, deadline=timedelta(minutes=1), parent=ItemId.parse(parent[0]), max_failures=3
    )
    status = batch.status()

    assert (status.mode, status.expected_items, status.max_failures) == ("exact", 7, 3)
    assert status.parent_item_id == parent[0]
    assert status.deadline_at - status.created_at == timedelta(minutes=1)
    assert fanin.open(mode="estimated").status().mode == fanin.open(mode=Mode.ESTIMATED).status().mode


def test_a_task_token_is_stored_and_not_shown(fanin, tracker, monkeypatch):
    resumed = SettingsFile(resumed_state_machines=["arn:aws:states:eu-west-1:123456789012:stateMachine:s"])
    monkeypatch.setattr(deployed, "settings_file", lambda: resumed)
    batch = fanin.open(task_token="t0ken", on_failures="fail", deadline=timedelta(hours=1))

    (stored,) = tracker.store.tokens.values()
    assert stored == TaskToken("t0ken", OnFailures.FAIL)
    assert "t0ken" not in repr(batch.status())


def test_ranges_are_acked_and_failed_in_few_ack_entries(fanin):
    batch = fanin.open()
    items = batch.add(1000)
    one = fanin.ack_ranges([items[:400], items[500:501], items[3:3]])
    other = fanin.fail_ranges([items[300:600]], "kaputt")

    assert one.ranges[0].counts == {Verdict.ACCEPTED: 400}
    assert (one.ranges[0].first, one.ranges[0].last) == (0, 399)
    assert verdicts(one) == [Verdict.ACCEPTED]
    assert other.ranges[0].counts == {Verdict.ACCEPTED: 199, Verdict.DUPLICATE: 101}
    assert batch.status().failed == 199
    assert [len(part) for part in batch.failures()] == [100, 99]


def test_ranges_are_cut_and_packed_into_what_a_request_takes():
    def sizes(*spans):
        acks = [Ack(UNKNOWN, UNKNOWN, first, last, "c") for first, last in spans]
        return [[(part.first, part.last) for part in request] for request in ranged_requests_of(acks)]

    most = RANGED_A_REQUEST
    assert sizes((5, 4 + 2 * most + 1)) == [
        [(5, 4 + most)],
        [(5 + most, 4 + 2 * most)],
        [(5 + 2 * most, 5 + 2 * most)],
    ]
    assert sizes((0, most - 2), (7, 7), (9, 9)) == [[(0, most - 2), (7, 7)], [(9, 9)]]
    assert [len(request) for request in sizes(*[(0, 0)] * 1001)] == [1000, 1]
    assert sizes() == []


def test_notify_names_the_event_that_is_sent_again(fanin, tracker):
    batch = fanin.open()
    with pytest.raises(Conflict):
        batch.notify()
    batch.cancel()

    assert batch.notify() == f"{batch.id}:CANCELLED"
    assert [key.batch_id for key, _ in tracker.store.notices] == [batch.id]


LABELS = {"team": "search", "run": "2026-03-01:a", "empty": ""}


def test_labels_come_with_a_batch_and_find_it(fanin):
    batch = fanin.open(labels=LABELS, key="weekly")
    fanin.open(labels={"team": "other"})
    plain = fanin.open()

    assert batch.status().labels == LABELS
    assert plain.status().labels == {}
    assert fanin.open(labels=dict(reversed(LABELS.items())), key="weekly").id == batch.id
    assert [(one.batch_id, one.labels) for one in fanin.batches(label="team:search")] == [(batch.id, LABELS)]
    assert [one.batch_id for one in fanin.batches(label="run:2026-03-01:a")] == [batch.id]
    assert [one.batch_id for one in fanin.batches(label="empty:")] == [batch.id]
    with pytest.raises(KeyReused):
        fanin.open(labels={"team": "search"}, key="weekly")


def broken(record):
    raise ValueError("line one\nline two")


@pytest.mark.parametrize(("times", "comes_back"), [(1, True), (2, True), (3, False), (4, False)])
def test_work_that_fails_for_the_last_time_fails_its_item(fanin, times, comes_back, caplog):
    with fanin.open() as batch:
        items = batch.add(1)
    handler = fanin.acks(fail_after=3)(broken)
    response = handler(received(items[0], times), None)

    assert bool(response["batchItemFailures"]) == comes_back
    assert (batch.status().state is State.COMPLETE) != comes_back
    assert caplog.records[0].getMessage().startswith(f"the work of item {items[0]} failed")
    assert batch.status().failed == (not comes_back)
    assert [sample.reason for sample in batch.samples()] == (
        [] if comes_back else ["ValueError: line one line two"]
    )


def test_a_message_that_fails_with_its_last_receive_after_an_unanswered_success_is_no_reused_key(
    over_http, service
):
    batch = over_http.open()
    items = batch.add(1)
    over_http.acks(lambda record: None)(received(items[0], 1), None)
    response = over_http.acks(fail_after=2)(broken)(received(items[0], 2), None)

    assert response == {"batchItemFailures": []}
    assert (batch.status().acked, batch.status().failed) == (1, 0)


def test_the_dead_letter_handler_fails_the_items_of_its_messages(fanin):
    with fanin.open() as batch:
        items = batch.add(2)
    handler = fanin.dead_letter_handler()
    response = handler(sqs_event(items[0], {"itemId": items[1]}, "nothing"), None)

    assert [one["itemIdentifier"] for one in response["batchItemFailures"]] == ["m2"]
    assert (batch.status().result, batch.status().failed) == ("completed_with_failures", 2)
    assert {sample.reason for sample in batch.samples()} == {"dead-letter message"}


@pytest.fixture
def allowed(monkeypatch):
    """Let the API accept the callback ``orders`` of any tenant."""
    row = {"name": "orders", "topic": "arn:aws:sns:eu-west-1:111122223333:orders", "tenants": ["*"]}
    monkeypatch.setattr(callbacks, "settings_file", lambda: SettingsFile(callbacks=[row]))


@pytest.mark.usefixtures("allowed")
def test_what_a_batch_asks_for_comes_with_it(fanin):
    options = {
        "callback": "orders",
        "notify_at": ("firstFailure", "50%"),
        "stuck_after": timedelta(minutes=5),
    }
    batch = fanin.open(**options)
    status, (summary,) = batch.status(), fanin.batches()

    assert {name: getattr(status, name) for name in options} == options
    assert {name: getattr(summary, name) for name in options} == options
