"""How the end of a task or of a job is reported to the tracker: by the production code of each."""

from __future__ import annotations

from fanin.api.bus_events.task_acks import ack_items
from fanin.client.queues.job_acks import acking
from fanin.client.transports.direct import DirectTransport
from fanin.grouper import ItemAck
from fanin.queue import OutboxEntry
from fanin.tracker import Outcome, Tracker
from tests.simulation_seams.outside import Owner
from tests.simulation_seams.scenario import TASK, TENANT


def report(tracker: Tracker, owner: Owner) -> None:
    """Ack the item of a task or job that has ended."""
    failed, item, name = owner.outcome is Outcome.FAILURE, owner.item.id, owner.name
    reason = "refused" if failed else ""
    if owner.kind == TASK:
        ack_items(tracker, [ItemAck(TENANT, item, failed, reason, f"{name}:{owner.outcome}")])
    else:
        acking(DirectTransport(tracker, TENANT))(OutboxEntry(name, item, failed, reason or None, name, 0))
