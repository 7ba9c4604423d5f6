"""The event of a completed batch, put on the bus by the process that completed it, before its answer.

The stream remains what makes the event sure: ``publish_endings`` sends each event that is not marked as
put. So a put here has one attempt and a short timeout, its failure fails no ack, and a crash between the
decision, the put and the mark costs time or a duplicate, never the event.

Only the bus confirms an event. EventBridge accepts events for a bus that does not exist, and drops them; of a
worker that has a wrong name, the sweep sends the event.

Only completions are put here: all that their event reports follows from the batch's row, so each copy of it
is equal. The events of other endings, and of a batch that has enough, list what is outstanding, which takes
reads of pages and other grants; those of batches with results have their manifest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fanin.aws.messaging.bus import Bus, Event
from fanin.completion_events.ending_event import EndingEvent
from fanin.tracker import Batch, Tracker, TrackerStore
from fanin.tracker.announcing import announcing
from fanin.user_functions import text_of

logger = logging.getLogger("fanin")
REST_FACTOR = 20
"""After a failure, completions are left to the stream for so many times as long as the failed attempt took.

One request may complete a hundred batches: a bus that does not answer takes a twentieth of their time, and
one that refuses at once is asked again soon.
"""


def _unreported(_: bool) -> None:
    """Report nothing."""


@dataclass(slots=True)
class Announcer:
    """Puts the event of a completed batch, and marks it in *store*. *put*: raises if one may be missing.

    *report*: called with whether an event was put and marked. *clock*: seconds, which only grow.
    """

    store: TrackerStore
    put: Callable[[Sequence[Event]], None]
    report: Callable[[bool], None] = _unreported
    clock: Callable[[], float] = time.monotonic
    _rests_until: float = field(default=float("-inf"), init=False)

    def __call__(self, batch: Batch) -> None:
        """Announce *batch*, which has just completed; a failure is logged and counted, and raises nothing."""
        started = self.clock()
        rests = started < self._rests_until or not batch.event_is_in_its_row
        self.report(not rests and self._has_put(batch, started))

    def _has_put(self, batch: Batch, started: float) -> bool:
        """Put the event and mark it as put; return whether both succeeded."""
        try:
            detail = EndingEvent.ended(batch, Tracker(self.store)).detail()
            self.put([Event(detail["detailType"], detail)])
            self.store.mark_put(batch.key, batch.expires_at)
        except Exception as error:  # the ack is stored: nothing here may fail its answer
            logger.warning("the stream sends the event of batch %s: %s", batch.batch_id, text_of(error))
            now = self.clock()
            self._rests_until = max(self._rests_until, now + REST_FACTOR * (now - started))
            return False
        return True


def announced_on(
    bus: str | None, store: TrackerStore, report: Callable[[bool], None] = _unreported
) -> TrackerStore:
    """Return *store*, whose completions are put on the bus of this name; *store* itself without a name."""
    if not bus:
        return store
    from fanin.aws import clients  # noqa: PLC0415  # a tracker in memory needs no botocore

    return announcing(
        store, Announcer(store, Bus(clients.announcements.later(), bus, attempts=1).put, report)
    )
