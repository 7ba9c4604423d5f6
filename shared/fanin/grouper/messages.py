"""The messages of the two queues, and the port that sends them. Delivery is at least once, in any order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from fanin.errors import InvalidRequest
from fanin.grouper.ids import checked_bundle_id, checked_task_id
from fanin.grouper.model import BundleKey, TaskKey


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """The message of a task that waits for a bundle. *waits*: how often a delayed copy replaced it.

    *swept*: the sweeper sent it. Such a message is never delayed, because the sweeper sends another one.
    """

    key: TaskKey
    waits: int = 0
    swept: bool = False

    def body(self) -> str:
        """Return the message as JSON."""
        return _text(tenant=self.key.tenant, taskId=self.key.task_id, waits=self.waits, swept=self.swept)

    @classmethod
    def parse(cls, body: str) -> TaskMessage:
        """Return the message in *body*; raise InvalidRequest if it holds none."""
        tenant, name, waits, swept = _parts(body, "taskId")
        return cls(TaskKey(tenant, checked_task_id(name)), waits, swept)


@dataclass(frozen=True, slots=True)
class BundleMessage:
    """The message of a sealed bundle that has to be called, or whose outcome has to be applied."""

    key: BundleKey
    waits: int = 0
    swept: bool = False

    def body(self) -> str:
        """Return the message as JSON."""
        return _text(tenant=self.key.tenant, bundleId=self.key.bundle_id, waits=self.waits, swept=self.swept)

    @classmethod
    def parse(cls, body: str) -> BundleMessage:
        """Return the message in *body*; raise InvalidRequest if it holds none."""
        tenant, name, waits, swept = _parts(body, "bundleId")
        return cls(BundleKey(tenant, checked_bundle_id(name)), waits, swept)


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


def _text(**facts: Any) -> str:
    return json.dumps(facts, separators=(",", ":"))


def _parts(body: str, name: str) -> tuple[str, str, int, bool]:
    try:
        read = json.loads(body)
        parts = read["tenant"], read[name], read.get("waits", 0), read.get("swept", False)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidRequest(f"the message is not {{tenant, {name}, waits, swept}}") from error
    if [type(part) for part in parts] != [str, str, int, bool] or not parts[0] or parts[2] < 0:
        raise InvalidRequest(f"the message is not {{tenant, {name}, waits, swept}}")
    return parts
