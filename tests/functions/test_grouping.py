"""The group-batcher's consumers as they are wired: from a registered task to an ended one, in numbers."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from fanin.api.bus_events.task_acks import ack_items, keep_results
from fanin.errors import StoreUnavailable
from fanin.grouper import (
    Answer,
    BundleMessage,
    Grouper,
    ItemAck,
    NewTask,
    Outcome,
    OutcomeNotifier,
    Policies,
    Policy,
    TaskMessage,
    Verdict,
    World,
)
from fanin.grouper.memory import MemoryStore
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.service import Results
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore as TrackerMemory
from functions import consume_tasks, handle_bundle, lead_tasks, sweep_groups
from functions.wiring import calling, consuming, grouping
from tests.functions.deliveries import delivery, metrics_in

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Stage:
    """The group-batcher in memory: a clock that is set, and a queue that the test reads."""

    at: datetime = START
    sent: list[Any] = field(default_factory=list)
    published: list[Any] = field(default_factory=list)
    answer: Answer = field(default_factory=Answer)
    left_ms: int = 120_000

    def send(self, postings: Any) -> None:
        self.sent += [posting.message for posting in postings]

    def call(self, _call: Any) -> Answer:
        return self.answer

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms

    def deliver(self, handler: Any, *bodies: str, receives: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the handler answers, and what it measured."""
        event = delivery(*bodies, receives=receives, prefix="m")
        output = io.StringIO()
        with redirect_stdout(output):
            answer = handler(event, self)
        return answer, metrics_in(output.getvalue())

    def bodies(self, kind: type) -> list[str]:
        found = [message.body() for message in self.sent if isinstance(message, kind)]
        self.sent = [message for message in self.sent if not isinstance(message, kind)]
        return found


@pytest.fixture
def tracker() -> Tracker:
    return Tracker(TrackerMemory(), page_bits=8, results=Results(MemoryObjects()))


@pytest.fixture
def stage(environment: pytest.MonkeyPatch, tracker: Tracker) -> Stage:
    stage = Stage()
    world = World(MemoryStore(), stage, Policies(default=Policy(max_size=2)), now=lambda: stage.at)
    grouper = Grouper(world)
    notifier = OutcomeNotifier(
        stage.published.extend,
        lambda entries: ack_items(tracker, entries),
        keep_results=lambda entries: keep_results(tracker, entries),
    )
    environment.setattr(grouping, "grouper", lambda: grouper)
    environment.setattr(calling, "downstream", lambda: stage)
    environment.setattr(grouping, "notifier", lambda: notifier)
    environment.setattr(grouping, "on_failed", lambda: None)
    return stage


def registered(stage: Stage, *items: str | None) -> list[str]:
    for number, item in enumerate(items):
        grouping.grouper().register("t", NewTask(number, "x", f"task-{number}", item_id=item))
    stage.at += timedelta(seconds=2)
    return stage.bodies(TaskMessage)


def test_the_first_message_of_a_delivery_leads_and_the_others_find_their_tasks_bundled(stage: Stage) -> None:
    answer, line = stage.deliver(lead_tasks.handler, *registered(stage, None, None, None))

    assert answer == {"batchItemFailures": []}
    assert line["BundleSize"] == [2, 1]
    assert (line["TaskMessages"], line["LeadersElected"], line["TasksBundled"]) == ([3], [1], [3])
    assert line["BundleWaitSeconds"] == [2]
    assert len(stage.bodies(BundleMessage)) == 2


def test_a_message_that_is_none_goes_back_alone(stage: Stage) -> None:
    good = registered(stage, None)
    answer, line = stage.deliver(lead_tasks.handler, "{}", *good)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
    assert (line["TaskMessages"], line["TaskMessagesReturned"]) == ([2], [1])


@pytest.mark.parametrize(("left_ms", "is_sent_again"), [(15_000, True), (2_000, False)])
def test_without_time_for_a_term_a_message_is_sent_again_and_without_time_for_that_it_goes_back(
    stage: Stage, left_ms: int, is_sent_again: bool
) -> None:
    stage.left_ms = left_ms
    (task,) = registered(stage, None)
    answer, _ = stage.deliver(lead_tasks.handler, task)
    sent = [TaskMessage.parse(body).key for body in stage.bodies(TaskMessage)]

    assert sent == [TaskMessage.parse(task).key] * is_sent_again
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-0"}] * (not is_sent_again)}
    assert not stage.bodies(BundleMessage)


def test_without_time_for_a_call_no_bundle_is_called(stage: Stage) -> None:
    stage.deliver(lead_tasks.handler, *registered(stage, None))
    stage.left_ms = 59_000
    answer, line = stage.deliver(handle_bundle.handler, *stage.bodies(BundleMessage))

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
    assert line["BundleCalls"] == []


def test_a_call_that_is_repeated_is_counted_as_that(stage: Stage) -> None:
    stage.deliver(lead_tasks.handler, *registered(stage, None, None))
    stage.answer = Answer(Outcome(Verdict.RETRY, "later"))
    first = stage.deliver(handle_bundle.handler, *stage.bodies(BundleMessage))[1]
    stage.at += timedelta(minutes=1)
    stage.answer = Answer()
    second = stage.deliver(handle_bundle.handler, *stage.bodies(BundleMessage))[1]

    assert (first["BundleCalls"], first["BundleRepeats"], first["BundlesPutBack"]) == ([1], [], [1])
    assert (second["BundleCalls"], second["BundleRepeats"], second["BundlesPutBack"]) == ([1], [1], [])
    assert grouping.grouper().task("t", "task-0").state == "SUCCEEDED"


def test_items_are_acked_as_their_tasks_ended_and_failures_are_published(
    stage: Stage, tracker: Tracker
) -> None:
    batch_id = tracker.open("t", OpenBatch()).batch_id
    group = tracker.add("t", batch_id, 2).groups[0].id
    stage.deliver(lead_tasks.handler, *registered(stage, *(f"{batch_id}:{group}:{n}" for n in range(2))))
    stage.answer = Answer(members={"task-1": Outcome(Verdict.FAIL, "bad")})
    stage.deliver(handle_bundle.handler, *stage.bodies(BundleMessage))
    batch = tracker.close("t", batch_id, "me").batch

    assert (batch.result, batch.failed) == ("completed_with_failures", 1)
    assert [sample.reason for sample in tracker.samples(batch)] == ["bad"]
    assert [(task.task_id, task.detail) for task in stage.published] == [("task-1", "bad")]


@pytest.mark.parametrize("keeps", [True, False])
def test_the_result_of_a_task_is_that_of_its_item_if_the_batch_keeps_results(
    stage: Stage, tracker: Tracker, keeps: bool
) -> None:
    batch_id = tracker.open("t", OpenBatch(results=keeps)).batch_id
    group = tracker.add("t", batch_id, 2).groups[0].id
    items = [f"{batch_id}:{group}:{n}" for n in range(2)]
    stage.deliver(lead_tasks.handler, *registered(stage, *items))
    stage.answer = Answer(members={"task-0": Outcome(Verdict.OK, result='{"size":3}')})
    stage.deliver(handle_bundle.handler, *stage.bodies(BundleMessage))
    batch = tracker.close("t", batch_id, "me").batch

    assert batch.result == "succeeded"
    if keeps:
        results: Any = tracker.result_store()
        assert list(results.read(results.gathered(batch, tracker.store))) == [(items[0], {"size": 3})]


def test_a_task_whose_result_could_not_be_kept_is_called_again(stage: Stage, tracker: Tracker) -> None:
    batch_id = tracker.open("t", OpenBatch(results=True)).batch_id
    group = tracker.add("t", batch_id, 1).groups[0].id
    objects = cast(Results, tracker.results).objects
    stage.deliver(lead_tasks.handler, *registered(stage, f"{batch_id}:{group}:0"))
    stage.answer = Answer(members={"task-0": Outcome(Verdict.OK, result="1")})
    bundle = stage.bodies(BundleMessage)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryObjects, "put", _unavailable)
        answer, _ = stage.deliver(handle_bundle.handler, *bundle)
    assert answer["batchItemFailures"]
    assert grouping.grouper().task("t", "task-0").state == "BUNDLED"

    stage.at += timedelta(minutes=15)
    stage.deliver(handle_bundle.handler, *bundle)
    assert grouping.grouper().task("t", "task-0").state == "SUCCEEDED"
    assert len(list(objects.names("results/"))) == 1


def test_a_task_whose_result_no_bucket_takes_succeeds_without_it_and_the_others_keep_theirs(
    stage: Stage, tracker: Tracker
) -> None:
    """A bucket that is gone would refuse the result of each call of the API again."""
    results = cast(Results, tracker.results)
    batches = [tracker.open("t", OpenBatch(results=True)) for _ in range(2)]
    groups = [tracker.add("t", batch.batch_id, 1).groups[0].id for batch in batches]
    named = zip(batches, groups, strict=True)
    stage.deliver(lead_tasks.handler, *registered(stage, *(f"{b.batch_id}:{g}:0" for b, g in named)))
    stage.answer = Answer(members={f"task-{n}": Outcome(Verdict.OK, result="1") for n in range(2)})
    put = MemoryObjects.put
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryObjects, "put", lambda *a: _gone() if batches[0].batch_id in a[1] else put(*a))
        stage.deliver(handle_bundle.handler, *stage.bodies(BundleMessage))
    ended = [tracker.close("t", batch.batch_id, "me").batch for batch in batches]

    assert [batch.result for batch in ended] == ["succeeded"] * 2
    found = [results.gathered(batch, tracker.store) for batch in ended]
    assert [index and index.items for index in found] == [0, 1]


def _gone() -> None:
    raise ClientError({"Error": {"Code": "NoSuchBucket", "Message": "it was removed"}}, "PutObject")


def _unavailable(*_: object) -> None:
    raise StoreUnavailable("S3 answers 503")


def test_the_acks_of_more_items_than_one_request_may_fail_are_all_sent(tracker: Tracker) -> None:
    batch_id = tracker.open("t", OpenBatch()).batch_id
    group = tracker.add("t", batch_id, 8 * 600).groups[0].id
    ack_items(
        tracker, [ItemAck("t", f"{batch_id}:{group}:{8 * at}", True, "x", f"{at}") for at in range(600)]
    )

    assert tracker.get("t", batch_id).failed == 600


@pytest.mark.parametrize(("left_ms", "woken"), [(60_000, []), (120_000, [1])])
def test_a_sweep_measures_whom_it_woke_and_reads_no_more_when_its_time_is_short(
    stage: Stage, left_ms: int, woken: list[int]
) -> None:
    registered(stage, None)
    stage.at += timedelta(minutes=5)
    stage.left_ms = left_ms
    output = io.StringIO()
    with redirect_stdout(output):
        sweep_groups.handler({}, stage)
    line = metrics_in(output.getvalue())

    assert (line["LanesWoken"], line["BundlesWoken"]) == (woken, [])
    assert len(stage.bodies(TaskMessage)) == len(woken)


def test_a_delivery_of_registrations_returns_what_is_malformed_and_counts_both(stage: Stage) -> None:
    good = json.dumps({"target": "x", "payload": 1, "taskId": "a"})
    answer, line = stage.deliver(consume_tasks.handler, good, "{", json.dumps({"payload": 1}))

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}, {"itemIdentifier": "m-2"}]}
    assert (line["TasksRegistered"], line["RegistrationsReturned"]) == ([1], [2])
    assert grouping.grouper().task("111122223333", "a").state == "CREATED"


def isolating(environment: pytest.MonkeyPatch) -> list[str]:
    """The bodies that the function sends to the dead-letter queue of its queue."""
    sent: list[str] = []

    def isolate(records: Any) -> list[str]:
        sent.extend(record["body"] for record in records)
        return [record["messageId"] for record in records]

    environment.setattr(consuming, "isolate", isolate)
    return sent


def test_a_registration_without_a_task_is_isolated_at_its_fifth_receive(
    stage: Stage, environment: pytest.MonkeyPatch
) -> None:
    sent, good = isolating(environment), json.dumps({"target": "x", "payload": 1})

    fourth, line = stage.deliver(consume_tasks.handler, good, "{", receives=4)
    assert fourth == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
    assert (sent, line["RegistrationsReturned"]) == ([], [1])

    stage.at += timedelta(seconds=30)
    fifth, line = stage.deliver(consume_tasks.handler, good, "{", receives=5)
    assert fifth == {"batchItemFailures": []}
    assert (sent, line["RegistrationsReturned"], line["TasksRegistered"]) == (["{"], [], [])
