"""Cases of one caller: a batch is opened, filled, closed and acked; and of one whose tracker crashed."""

from __future__ import annotations

from fanin_conformance.case import case
from fanin_conformance.trial import PATIENCE_SECONDS, Trial, reports

CARLYLE = "Carlyle's tests of its database layer"


@case("T1", "a new batch", "its status is read", "it is open and not complete", CARLYLE)
def a_new_batch_is_open(trial: Trial) -> None:
    batch, _ = trial.opened(1)
    found = trial.tracker.status(batch)
    trial.check(not (found.is_closed or found.is_complete), f"a new batch is {found}")


@case("T2", "an empty batch", "it is closed", "it is complete, and reported once", "Sidekiq 7.1, GoodJob")
def an_empty_batch_completes(trial: Trial) -> None:
    batch = trial.tracker.open()
    trial.completed_once(batch, [trial.tracker.close(batch)])


@case(
    "T3",
    "a closed batch of 1,000 items",
    "all are acked, 100 a request",
    "the last request and no other reports the completion",
    "Carlyle's tests of its service",
)
def the_last_chunk_completes(trial: Trial) -> None:
    batch, items = trial.opened(1000)
    answers = [trial.tracker.close(batch), *trial.ack_all(items[:900])]
    early = reports(batch, answers) or trial.tracker.status(batch).is_complete
    trial.check(not early, "complete though 100 items are not acked")
    trial.completed_once(batch, trial.ack_all(items[900:]))


@case(
    "T5",
    "10 items, all acked while the batch is open",
    "it is closed",
    "the close reports the completion, and no ack did",
    CARLYLE,
)
def the_close_completes(trial: Trial) -> None:
    batch, items = trial.opened(10)
    acks = trial.ack_all(items, at_once=1)
    trial.check(not reports(batch, acks), "an ack of an open batch reports its completion")
    trial.completed_once(batch, [trial.tracker.close(batch)])


@case("T7", "a closed batch", "items are added", "it is a conflict, and the total stays", CARLYLE)
def no_add_after_close(trial: Trial) -> None:
    batch, _ = trial.opened(3)
    trial.tracker.close(batch)
    trial.refused("an add after close", lambda: trial.tracker.add(batch, 2), "conflict")
    total = trial.tracker.status(batch).total
    trial.check(total in (3, None), f"the total of 3 became {total}")


@case(
    "T8",
    "a user key of Unicode, as long as it may be",
    "the batch completes",
    "the report and the status have it unchanged",
    "Carlyle's tests of its service",
)
def the_user_key_returns(trial: Trial) -> None:
    key = ("käse 🎈 " + "x" * 300)[: trial.tracker.user_key_max]
    batch = trial.tracker.open(user_key=key)
    items = trial.items(batch, 1)
    trial.tracker.close(batch)
    answer = trial.tracker.ack(items)
    found = {trial.tracker.status(batch).user_key, *(each.user_key for each in answer.completions)}
    trial.check(bool(answer.completions) and found == {key}, f"the key came back as {found!r:.80}")


@case(
    "T24",
    "a server that is killed after it stored the last ack, and before it reported anything",
    "it is started again",
    "the completion is reported within the time of a sweep",
    "Oban 954, solid_queue 142",
)
def a_crash_before_the_report(trial: Trial) -> None:
    batch, items = trial.opened(9)
    trial.tracker.ack(items[:6])
    trial.tracker.close(batch)
    trial.tracker.ack_and_crash(items[6:])
    found = trial.ended(batch)
    trial.check(found is not None and found.is_complete, f"after the restart: {found}")
    found_events = trial.tracker.deliveries(batch, 1, PATIENCE_SECONDS)
    kinds = {(each.kind, each.id) for each in found_events}
    trial.check([kind for kind, _ in kinds] == ["completed"], f"delivered: {sorted(kinds)}")
