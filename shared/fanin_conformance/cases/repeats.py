"""Cases of repeated requests: each has one effect, and the same answer."""

from __future__ import annotations

from uuid import uuid4

from fanin_conformance.case import case
from fanin_conformance.trial import Trial, reports


@case(
    "T12",
    "a complete batch",
    "every item is acked again, and the close repeated",
    "no new completion is reported",
    "Carlyle reports it each time; Sidekiq 6852",
)
def nothing_completes_twice(trial: Trial) -> None:
    batch, items = trial.opened(6)
    answers = [trial.tracker.close(batch), *trial.ack_all(items)]
    trial.completed_once(batch, answers)
    answers += trial.ack_all(items, at_once=1)
    trial.completed_once(batch, [*answers, trial.tracker.close(batch)], " after all was repeated")


@case(
    "T15",
    "an add of 100 items with an idempotency key",
    "it is sent twice",
    "the total is 100, and the ids are the same",
    "phantom items after a retry in Carlyle; Trigger.dev 3766",
)
def an_add_is_repeated(trial: Trial) -> None:
    batch, token = trial.tracker.open(), uuid4().hex
    first, second = (trial.tracker.add(batch, 100, token) for _ in range(2))
    trial.check(first == second, f"two different answers: {first!r:.60}, {second!r:.60}")
    total = trial.tracker.status(batch).total
    trial.check(total in (100, None), f"the total is {total}")
    group = first.groups[0]
    ids = [trial.tracker.item_id(batch, each.id, at) for each in first.groups for at in range(each.size)]
    trial.check(len(ids) == 100, f"{len(ids)} items, the first in group {group.id}")
    trial.completed_once(batch, [trial.tracker.close(batch), *trial.ack_all(ids)])


@case("T16", "an open with an idempotency key", "it is sent twice", "there is one batch", "Trigger.dev")
def an_open_is_repeated(trial: Trial) -> None:
    token = uuid4().hex
    first, second = (trial.tracker.open(token=token) for _ in range(2))
    trial.check(first == second, f"two batches: {first} and {second}")


@case(
    "T19",
    "two batches",
    "one request acks valid items of both, a duplicate and an unknown item",
    "each has its verdict, and the valid ones count",
    "SQS delivers messages of several batches together",
)
def a_mixed_request(trial: Trial) -> None:
    (one, mine), (two, others) = trial.opened(5), trial.opened(2)
    trial.tracker.ack(mine[:1])
    unknown = trial.tracker.item_id(trial.tracker.unknown_batch(), str(uuid4()), 0)
    verdicts = trial.tracker.ack([others[1], mine[0], unknown, mine[4]]).verdicts
    trial.check(verdicts is not None, "no verdicts")
    trial.check(verdicts == ("accepted", "duplicate", "not_found", "accepted"), f"the verdicts {verdicts}")
    trial.pending(one, 2, "a mixed request")
    trial.pending(two, 1, "a mixed request")


@case(
    "T23",
    "an ack that was stored, and whose answer was lost",
    "it is sent again",
    "the completion is reported to it, once",
    "Celery 3363",
)
def the_answer_is_lost(trial: Trial) -> None:
    batch, items = trial.opened(2)
    trial.tracker.close(batch)
    trial.tracker.ack(items[:1])
    token = uuid4().hex
    trial.tracker.ack_unanswered(items[1:], token)
    trial.check(trial.tracker.status(batch).is_complete, "not complete after the ack was stored")
    retry = trial.tracker.ack(items[1:], token)
    trial.check(reports(batch, [retry]) == 1, "the retry does not report the completion")
