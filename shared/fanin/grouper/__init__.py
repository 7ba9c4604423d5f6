"""Group tasks into bundles: one call of a batch API for many tasks, by a leader who may die at any step."""

from fanin.grouper.downstream import Answer, ByTarget, Call, Downstream, Function, Member, Refused, Retry
from fanin.grouper.handling import Handled, HandledAs
from fanin.grouper.leading import Turn, Turned
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
    Task,
    TaskKey,
    TaskState,
    Verdict,
)
from fanin.grouper.notices import ItemAck, Notices, Notifier
from fanin.grouper.policy import Isolation, Policies, Policy, Timing
from fanin.grouper.service import Grouper, Status
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
    "Lease",
    "Member",
    "Message",
    "NewTask",
    "Notices",
    "Notifier",
    "Outcome",
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
    "Turn",
    "Turned",
    "Verdict",
    "World",
]
