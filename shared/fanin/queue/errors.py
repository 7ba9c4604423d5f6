"""What the work queue refuses, beside the errors that every capability has.

Conflict
├── LostClaim         the job is no longer ours: none of the ack's writes happened
└── ShutDown          the queue was closed in this process; it takes no more jobs
"""

from __future__ import annotations

from fanin.errors import Conflict


class LostClaim(Conflict):
    """The claim on a job is gone, so the job runs elsewhere; nothing of the ack was written."""


class ShutDown(Conflict):
    """The queue was closed in this process, so it takes no more jobs."""
