"""One visit of the scheduled sweep to a queue, which lets an idle queue fall asleep."""

from __future__ import annotations

from fanin.queue.administration import removing
from fanin.queue.administration.counting import depth_of
from fanin.queue.administration.creating import Doorbells
from fanin.queue.context import QueueContext
from fanin.queue.maintenance import raise_phases, sleeping
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.rules.config import Phase
from fanin.queue.rules.model import Depth


def visit(
    context: QueueContext,
    doorbells: Doorbells | None = None,
    settle: float = sleeping.SETTLE_SECONDS,
    known_dead: int | None = None,
) -> Depth | None:
    """End overdue sessions, free, promote, ring, and report the outbox; return the depth before.

    Deletes some rows of a queue that is being removed, and its doorbell at the end if *doorbells* is given;
    returns None for it, and for a queue that does not exist. *settle*: seconds for which a queue is idle
    before it sleeps. *known_dead*: the number of its dead jobs; None counts them.
    """
    before = context.read_config()
    if before is None:
        return None
    if before.removing_us is not None:
        removing.proceed(context, doorbells, settle)
        return None
    looks, has_outbox = Maintenance(context).sweep_queue(before.parts)
    in_use = has_outbox or any(each.in_use for each in looks)
    sleeping.note_activity(context, before, in_use, settle)
    removing.begin_if_forgotten(context)
    depth = depth_of(context, looks, known_dead)
    if before.phase is not Phase.STEADY:  # last, because a row that cannot be moved must not stop the others
        raise_phases.advance(context)
    return depth
