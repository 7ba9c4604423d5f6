"""Group tasks into bundles: one call of a batch API for many tasks.

A leader fills the bundles of its lane. After a crash the next leader, or the sweeper, continues its work.
"""

from warnings import warn

from fanin.grouper.downstream import Answer, ByTarget, Call, Downstream, Function, Member, Refused, Retry
from fanin.grouper.handling import Handled, HandledAs
from fanin.grouper.leading import LeadOutcome, LeadResult
from fanin.grouper.messages import BundleMessage, Message, Posting, Queue, TaskMessage
from fanin.grouper.model import (
    Bundle,
    BundleKey,
    BundleState,
    Candidate,
    Lane,
    Lease,
    NewTask,
    Outcome,
    Status,
    Task,
    TaskKey,
    TaskState,
    Verdict,
)
from fanin.grouper.notifying import ItemAck, Notifier, OutcomeNotifier
from fanin.grouper.policy import Isolation, Policies, Policy, Timing
from fanin.grouper.service import Grouper
from fanin.grouper.store import Claim, GrouperStore, Page
from fanin.grouper.sweeping import Swept
from fanin.grouper.world import World

__all__ = [
    "Answer",
    "Bundle",
    "BundleKey",
    "BundleMessage",
    "BundleState",
    "ByTarget",
    "Call",
    "Candidate",
    "Claim",
    "Downstream",
    "Function",
    "Grouper",
    "GrouperStore",
    "Handled",
    "HandledAs",
    "Isolation",
    "ItemAck",
    "Lane",
    "LeadOutcome",
    "LeadResult",
    "Lease",
    "Member",
    "Message",
    "NewTask",
    "Notifier",
    "Outcome",
    "OutcomeNotifier",
    "Page",
    "Policies",
    "Policy",
    "Posting",
    "Queue",
    "Refused",
    "Retry",
    "Status",
    "Swept",
    "Task",
    "TaskKey",
    "TaskMessage",
    "TaskState",
    "Timing",
    "Verdict",
    "World",
]


def __getattr__(name: str) -> type:
    """Return the class of a deprecated name, until the next version."""
    if name == "Notices":
        warn("Notices is deprecated; use OutcomeNotifier", DeprecationWarning, stacklevel=2)
        return OutcomeNotifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
