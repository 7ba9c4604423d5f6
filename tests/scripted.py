"""Stores, queues and clients whose requests are noted, and may be answered by the test instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError


@dataclass
class Scripted:
    """Forwards to *real*; *requests*: its requests with their arguments; *scripts*: who answers, by name."""

    real: Any
    scripts: dict[str, Callable[..., Any]] = field(default_factory=dict)
    requests: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: Any, **named: Any) -> Any:
            self.requests.append((name, (*arguments, *named.values())))
            return (self.scripts.get(name) or getattr(self.real, name))(*arguments, **named)

        return ask

    def names(self) -> list[str]:
        """Return the requests by name, in order."""
        return [name for name, _ in self.requests]

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """Return the arguments of each request *name*."""
        return [arguments for each, arguments in self.requests if each == name]


class AnsweringClient:
    """A client that gives its answers in their order, and records the requests."""

    def __init__(self, *answers):
        self.answers, self.sent = list(answers), []

    def __getattr__(self, name):
        def request(**parameters):
            self.sent.append((name, parameters))
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return request

    @property
    def names(self):
        return [name for name, _ in self.sent]


def refused(**facts):
    return ClientError({"Error": {"Code": "ConditionalCheckFailedException"}} | facts, "UpdateItem")
