"""Distinct, exactly-once work: the capability of jobs that are claimed under a session and acked once."""

from fanin.queue.doorbell import Doorbell, MemoryDoorbell
from fanin.queue.effects import Effects
from fanin.queue.errors import LostClaim, ShutDown
from fanin.queue.keys import QueueKey
from fanin.queue.model import (
    Dead,
    Depth,
    Job,
    JobState,
    Member,
    NewJob,
    OnBusy,
    Options,
    Rejected,
    Ring,
    Telling,
)
from fanin.queue.scope import Jobs
from fanin.queue.service import Queue
from fanin.queue.store import QueueStore

__all__ = [
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
    "Queue",
    "QueueKey",
    "QueueStore",
    "Rejected",
    "Ring",
    "ShutDown",
    "Telling",
]
