"""The work queue: distinct jobs, each claimed by one session and acked exactly once.

The promise: an added job is run until a worker acks it, it is dead, or it is deleted; its ack is one
transaction with the user's own writes and holds only under the claim that took the job. A worker that dies
loses its session, and its jobs go to others; that counts as no failure of the jobs.

States of a job (``rules/lifecycle.py``); the API shows ``ready`` as ``queued``, ``busy`` as ``inProgress``::

    add --> ready, or with a delay: delayed --due--> ready
    ready, delayed --delete--> done --add--> ready, delayed
    ready --claim--> busy --ack-------------------------> done
                      |---return, or a dead session----> ready, delayed
                      |---ack, with a rerun requested--> ready
                      `---too many failures------------> dead --revive--> ready

A dead job is a record of its own beside the jobs. A session is ``live`` while its heartbeats count up, and
``dead`` for good once its worker, a neighbour or the sweep ended it; its claims are freed then.

Read in this order:

- ``rules/model.py``, ``rules/keys.py``, ``rules/lifecycle.py``: jobs, their keys, and each transition.
- ``interface.py``, ``service.py``, ``scope.py``: add, take, and the block that acks or returns what it took.
- ``sessions/taker.py``: a take looks for jobs and waits at the doorbell, in turns.
- ``sessions/claims.py``, ``sessions/session.py``: a claim, a heartbeat. ``producer.py``: an add.
- ``upkeep/maintenance.py``: frees the claims of the dead. ``upkeep/sleeping.py``: why an idle queue is free.
  ``upkeep/raise_phases.py``: the phases of a raise of the parts.
- ``administration/``: what operators do: list, revive, delete, pause, raise the parts, remove.
- ``store.py``: the port, of which each call is one atomic request; ``dynamodb/`` and ``memory.py`` keep it.
- ``context.py``, ``effects.py``: what each service works with. ``doorbell.py``: the port that wakes workers;
  ``sqs.py`` has it on SQS.
"""

from fanin.queue.context import QueueContext, Reporter
from fanin.queue.doorbell import Doorbell, MemoryDoorbell
from fanin.queue.effects import Effects
from fanin.queue.rules.errors import LostClaim, SessionLost, ShutDown
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import (
    Accuracy,
    Dead,
    Depth,
    Job,
    JobState,
    Member,
    NewJob,
    OnBusy,
    Options,
    OutboxEntry,
    Rejected,
    Ring,
)
from fanin.queue.scope import Jobs
from fanin.queue.service import Queue
from fanin.queue.store import QueueStore

__all__ = [
    "Accuracy",
    "Dead",
    "Depth",
    "Doorbell",
    "Effects",
    "Job",
    "JobState",
    "Jobs",
    "LostClaim",
    "Member",
    "MemoryDoorbell",
    "NewJob",
    "OnBusy",
    "Options",
    "OutboxEntry",
    "Queue",
    "QueueContext",
    "QueueKey",
    "QueueStore",
    "Rejected",
    "Reporter",
    "Ring",
    "SessionLost",
    "ShutDown",
]
