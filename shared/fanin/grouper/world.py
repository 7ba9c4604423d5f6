"""The dependencies of the use cases: store, queue, policies, clock, ids and randomness."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from fanin.grouper.rules.messages import Queue
from fanin.grouper.settings.policy import Policies, Timing
from fanin.grouper.store import GrouperStore
from fanin.pacing import Each, each_in_turn


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid4())


@dataclass(frozen=True, slots=True)
class World:
    """The dependencies of the group-batcher, each replaceable.

    *new_id* returns a unique id, *jitter* a number from 0 up to 1; *pause* sleeps for a number of seconds.
    *each* makes independent requests, one after another or at once.
    """

    store: GrouperStore
    queue: Queue
    policies: Policies = field(default_factory=Policies)
    timing: Timing = field(default_factory=Timing)
    now: Callable[[], datetime] = _now
    new_id: Callable[[], str] = _new_id
    jitter: Callable[[], float] = random.random
    pause: Callable[[float], None] = time.sleep
    each: Each = each_in_turn
