"""Cases of the other ends of a batch: failures, deadlines, retention, cancel."""

from __future__ import annotations

from fanin_conformance.adapter import Refused
from fanin_conformance.case import case
from fanin_conformance.trial import Trial, reports

FAILURES = 5000


@case(
    "T25",
    "a closed batch of 10 items",
    "9 succeed and one fails for good",
    "one completion with failures is reported",
    "BullMQ 3362, dramatiq 868, Laravel 35711",
)
def a_failed_item_completes(trial: Trial) -> None:
    batch, items = trial.opened(10)
    answers = [trial.tracker.close(batch), trial.tracker.ack(items[:9])]
    answers.append(trial.tracker.fail(items[9:], "bad record"))
    trial.completed_once(batch, answers)
    good = [each for answer in answers for each in answer.completions if each.succeeded]
    trial.check(not good, "the completion is reported as a success")
    failed = trial.tracker.status(batch).failed
    trial.check(failed in (1, None), f"{failed} failed items instead of 1")


@case(
    "T27",
    f"a batch of {FAILURES:,} items",
    "all of them fail",
    "no request fails, and all are listed",
    "Laravel 38173, whose list of failures does not fit its column",
)
def many_failures(trial: Trial) -> None:
    batch, items = trial.opened(FAILURES)
    answers = [
        trial.tracker.fail(items[at : at + 1000], "a reason of some length " * 4)
        for at in range(0, FAILURES, 1000)
    ]
    listed = sum(span.last - span.first + 1 for span in trial.tracker.failures(batch))
    trial.check(listed == FAILURES, f"{listed} failures are listed")
    trial.completed_once(batch, [*answers, trial.tracker.close(batch)])


@case(
    "T28",
    "a batch that is kept 600 s without activity",
    "an item is acked each 400 s, five times",
    "it does not expire",
    "Carlyle deletes active batches",
)
def activity_prolongs(trial: Trial) -> None:
    batch = trial.tracker.open(kept_open_seconds=600)
    items = trial.items(batch, 6)
    for item in items[:5]:
        trial.tracker.pass_time(400)
        answer = trial.tracker.ack([item])
        trial.check(answer.verdicts in (("accepted",), None), f"an ack of an active batch: {answer.verdicts}")
    found = trial.status_or_none(batch)
    trial.check(found is not None and not found.is_over, f"the batch ended: {found}")


@case(
    "T29",
    "a batch with a deadline of a second, 4 of its 10 items acked",
    "the deadline passes",
    "one event has the missing items, and later acks are refused as late",
    "Trigger.dev 4397, Faktory",
)
def a_deadline_passes(trial: Trial) -> None:
    batch = trial.tracker.open(deadline_seconds=1)
    group = trial.tracker.add(batch, 10).groups[0].id
    items = [trial.tracker.item_id(batch, group, at) for at in range(10)]
    trial.tracker.ack([*items[:3], items[7]])
    trial.tracker.pass_time(1.2)
    try:
        late = trial.tracker.ack(items[9:]).verdicts
    except Refused as refusal:
        late = (refusal.why,)
    trial.check(late in (("late",), ("expired",), ("conflict",)), f"a late ack: {late}")
    found = trial.ended(batch)
    trial.check(found is not None and found.is_over and not found.is_complete, f"after the deadline: {found}")
    event = trial.one_event(batch, "timed_out")
    missing = [span[1:] for span in (event and event.missing) or ()]
    trial.check(event is None or missing == [(3, 6), (8, 9)], f"missing items {missing}")


@case(
    "T30",
    "an empty batch with a deadline of a second",
    "it passes",
    "the batch ends as any other",
    "Carlyle never deletes an empty batch",
)
def an_empty_batch_ends(trial: Trial) -> None:
    batch = trial.tracker.open(deadline_seconds=1)
    trial.tracker.pass_time(1.2)
    found = trial.ended(batch)
    trial.check(found is None or found.is_over, f"after the deadline: {found}")
    trial.check(found is None or not found.is_complete, "an abandoned batch is complete")
    trial.one_event(batch, "timed_out")


@case(
    "T34",
    "a batch that expects 100 items, 90 of them added",
    "all are acked and it is closed",
    "the close is refused, or the batch is not complete",
    "batches of Trigger.dev, which are sealed",
)
def fewer_than_expected(trial: Trial) -> None:
    batch = trial.tracker.open(expected_items=100)
    items = trial.items(batch, 90)
    answers = trial.ack_all(items)
    try:
        answers.append(trial.tracker.close(batch))
    except Refused as refusal:
        trial.check(refusal.why == "conflict", f"the close: {refusal}")
    early = reports(batch, answers) or trial.tracker.status(batch).is_complete
    trial.check(not early, "complete with 90 of 100 items")


@case(
    "T36",
    "a batch of 4 items, one acked",
    "it is cancelled",
    "later acks are answered as cancelled, there is one event, and no completion",
    "Sidekiq 3326, Oban 949",
)
def a_cancelled_batch(trial: Trial) -> None:
    batch, items = trial.opened(4)
    trial.tracker.ack(items[:1])
    trial.tracker.cancel(batch)
    answer = trial.tracker.ack(items)
    expected = ("duplicate", "cancelled", "cancelled", "cancelled")
    trial.check(answer.verdicts == expected, f"the verdicts {answer.verdicts}")
    answers = [answer]
    try:
        answers.append(trial.tracker.close(batch))
    except Refused as refusal:
        trial.check(refusal.why == "conflict", f"the close: {refusal}")
    early = reports(batch, answers) or trial.tracker.status(batch).is_complete
    trial.check(not early, "a cancelled batch is complete")
    trial.one_event(batch, "cancelled")
