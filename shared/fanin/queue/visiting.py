"""One visit of the scheduled sweep to a queue, which lets an idle queue fall asleep."""

from __future__ import annotations

from fanin.queue import sleeping
from fanin.queue.context import QueueContext
from fanin.queue.counting import depth_of
from fanin.queue.maintenance import Maintenance
from fanin.queue.model import Depth


def visit(context: QueueContext, settle: float = sleeping.SETTLE_SECONDS) -> Depth | None:
    """End overdue sessions, free, promote, ring, and report the outbox; return the depth before.

    Does nothing, and returns None, for a queue that does not exist or is being removed. *settle*: seconds for
    which a queue is idle before it sleeps.
    """
    before = context.read_config()
    if before is None or before.removing_us is not None:
        return None
    maintenance = Maintenance(context)
    maintenance.read_members()
    maintenance.end_overdue()
    looks = maintenance.sweep(range(before.parts))
    # The outbox is read last: the end of a job moves it from its part to the outbox.
    in_use = maintenance.report_outbox() | any(each.first for each in looks)
    sleeping.rest(context, before, in_use, settle)
    return depth_of(context, looks)
