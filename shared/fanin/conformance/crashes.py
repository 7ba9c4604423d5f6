"""The case of a crash of the tracker itself."""

from __future__ import annotations

from fanin.conformance.case import case
from fanin.conformance.trial import PATIENCE_SECONDS, Trial


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
