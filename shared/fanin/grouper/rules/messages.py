"""The messages of the two queues, and the port that sends them. Delivery is at least once, in any order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from fanin.errors import InvalidRequest
from fanin.grouper.rules.ids import checked_bundle_id, checked_task_id
from fanin.grouper.rules.model import Bundle, BundleKey, Candidate, Task, TaskKey


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """The message of a task that waits for a bundle. *waits*: how often a delayed copy replaced it.

    *swept*: the sweeper sent it. Such a message is never delayed, because the sweeper sends another one.
    *target*: of the task, for the message group alone; empty if it is not known.
    """

    key: TaskKey
    waits: int = 0
    swept: bool = False
    target: str = field(default="", compare=False)

    @classmethod
    def of(cls, task: Task | Candidate, swept: bool = False) -> TaskMessage:
        """Return the message of *task*."""
        return cls(task.key, swept=swept, target=task.lane.target)

    def body(self) -> str:
        """Return the message as JSON."""
        return _text(self, taskId=self.key.task_id)

    @property
    def group(self) -> str:
        """The message group, by which SQS shares the consumers among targets."""
        return _group(self)

    @classmethod
    def parse(cls, body: str) -> TaskMessage:
        """Return the message in *body*; raise InvalidRequest if it holds none."""
        tenant, name, waits, swept, target = _parts(body, "taskId")
        return cls(TaskKey(tenant, checked_task_id(name)), waits, swept, target)


@dataclass(frozen=True, slots=True)
class BundleMessage:
    """The message of a sealed bundle that has to be called, or whose outcome has to be applied.

    Its fields are those of a task's message.
    """

    key: BundleKey
    waits: int = 0
    swept: bool = False
    target: str = field(default="", compare=False)

    @classmethod
    def of(cls, bundle: Bundle, swept: bool = False) -> BundleMessage:
        """Return the message of *bundle*."""
        return cls(bundle.key, swept=swept, target=bundle.lane.target)

    def body(self) -> str:
        """Return the message as JSON."""
        return _text(self, bundleId=self.key.bundle_id)

    @property
    def group(self) -> str:
        """The message group, by which SQS shares the consumers among targets."""
        return _group(self)

    @classmethod
    def parse(cls, body: str) -> BundleMessage:
        """Return the message in *body*; raise InvalidRequest if it holds none."""
        tenant, name, waits, swept, target = _parts(body, "bundleId")
        return cls(BundleKey(tenant, checked_bundle_id(name)), waits, swept, target)


Message = TaskMessage | BundleMessage
Some = TypeVar("Some", TaskMessage, BundleMessage)


@dataclass(frozen=True, slots=True)
class Posting:
    """A message and its delay in whole seconds, 0 to 900."""

    message: Message
    delay: int = 0


class Queue(Protocol):
    """Sends messages to both queues."""

    def send(self, postings: Sequence[Posting]) -> None:
        """Send all *postings*; raise StoreUnavailable if some may not have been sent."""


def waiting_copy(message: Some) -> Some:
    """Return the delayed copy that replaces *message*: a new message, so waiting raises no receive count."""
    return replace(message, waits=message.waits + 1)


def _text(message: Message, **names: str) -> str:
    facts = {"waits": message.waits, "swept": message.swept, "target": message.target}
    return json.dumps({"tenant": message.key.tenant, **names, **facts}, separators=(",", ":"))


def _group(message: Message) -> str:
    """Return a hash of tenant and target: a group has at most 128 characters, of ASCII."""
    return hashlib.sha256(f"{message.key.tenant}#{message.target}".encode()).hexdigest()[:32]


def _parts(body: str, name: str) -> tuple[str, str, int, bool, str]:
    form = f"the message is not {{tenant, {name}, waits, swept, target}}"
    try:
        read = json.loads(body)
        parts = (
            read["tenant"],
            read[name],
            read.get("waits", 0),
            read.get("swept", False),
            read.get("target", ""),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidRequest(form) from error
    if [type(part) for part in parts] != [str, str, int, bool, str] or not parts[0] or parts[2] < 0:
        raise InvalidRequest(form)
    return parts
