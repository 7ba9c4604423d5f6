"""The errors of the work queue, beside those of every capability.

Conflict
├── LostClaim         the claim on the job is gone: nothing of the ack was written
├── SessionLost       the session is over, and its jobs run elsewhere: raised by the next take, once
└── ShutDown          the queue was closed in this process, or its time is over

StoreUnavailable
└── DoorbellMissing   the queue has no doorbell at the moment; jobs are stored, and nothing rings
"""

from __future__ import annotations

from fanin.errors import Conflict, StoreUnavailable


class LostClaim(Conflict):
    """The claim on a job is gone, so the job runs elsewhere; nothing of the ack was written."""


class SessionLost(Conflict):
    """The session of this process is over: its jobs run elsewhere, and the next take has a new session.

    A take raises it once for a lost session, before it claims.
    """


class ShutDown(Conflict):
    """The queue was closed in this process, or its time is over, so it takes no more jobs."""


class DoorbellMissing(StoreUnavailable):
    """The doorbell of the queue does not exist, or cannot be created yet; jobs are stored without a ring."""
