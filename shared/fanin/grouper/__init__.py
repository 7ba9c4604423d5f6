"""The group-batcher: concurrent tasks of one target become one call of a batch API.

The promise: a registered task ends at most once, as SUCCEEDED, FAILED or DEAD; one that waits for a
bundle for 14 days expires. A lease makes one leader bundle the tasks of a lane, and only saves work: bundles
are named by the fence of their leader, a task is claimed by one bundle, and a bundle changes by its version,
so leaders that overlap bundle no task twice. A poisoned task fails alone.

States (``rules/model.py``)::

    task    CREATED --claim--> BUNDLED --verdict--> SUCCEEDED, FAILED
               ^                  |
               +--retry, apart----+--attempts used up--> DEAD

    bundle  OPEN --seal--> READY --lease of a call--> CALLING --outcome--> APPLYING --> DONE, FAILED
                             ^ |                        |                     ^
                             | |                        |                     |
                             | +--attempts used up------|---------------------+
                             +--retry after a backoff---+

A call whose lease is over, or that is repeated in place, goes from CALLING to CALLING. A bundle is DONE if a
member's verdict is ``ok`` or ``retry``, else FAILED. An empty bundle, in place of one that an earlier leader
may write, stays READY.

Read in this order:

- ``rules/model.py`` and ``rules/protocol.py``: the values, and every decision as a pure function.
- ``use_cases/``: ``registering.py``, ``leading.py``, ``filling.py``: a task, its leader, its bundle.
  ``handling.py``: the call and its outcome for each member. ``batch_api_calls/``: HTTP or Lambda.
  ``sweeping.py``: what a crash left. ``settings/``: policies and batch APIs by pattern of targets.
- ``service.py``: every call, and ``listing.py`` and ``targets.py``, its lists. ``world.py``: the effects.
- ``store.py``: the port, of which each call is one atomic request; ``dynamodb/`` and ``memory.py`` keep it.
  ``sqs.py``: the messages. ``eventbridge.py``: the events.
"""

from fanin.grouper.rules.downstream import (
    Answer,
    ByTarget,
    Call,
    Downstream,
    Function,
    Member,
    Refused,
    Retry,
)
from fanin.grouper.rules.messages import BundleMessage, Message, Posting, Queue, TaskMessage
from fanin.grouper.rules.model import (
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
from fanin.grouper.rules.notifying import ItemAck, Notifier, OutcomeNotifier
from fanin.grouper.service import Grouper
from fanin.grouper.settings.policy import Isolation, Policies, Policy, Timing
from fanin.grouper.store import Claim, GrouperStore, Page
from fanin.grouper.use_cases.handling import Handled, HandledAs
from fanin.grouper.use_cases.leading import LeadOutcome, LeadResult
from fanin.grouper.use_cases.sweeping import Swept
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
