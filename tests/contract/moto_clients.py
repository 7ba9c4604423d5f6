"""Clients of AWS as moto plays it: within ``mock_aws``, which empties everything before each test."""

from __future__ import annotations

from functools import cache
from threading import RLock
from typing import Any

import boto3
from moto.core.botocore_stubber import BotocoreStubber


def client(service: str, **options: Any) -> Any:
    """Return a client of its own for *service*; *options* are those of ``boto3.client``."""
    return _session().client(service, **options)


def resource(service: str) -> Any:
    """Return a resource of boto3 for *service*, with a client of its own."""
    return _session().resource(service)


@cache
def _session() -> Any:
    """One for the process: a session that is made anew reads the service's model again, for 50 ms."""
    return boto3.Session("none", "none", region_name="us-east-1")


def _answer_in_turn() -> None:
    """Make moto answer one request at a time: a transaction copies tables, which others must not change."""
    lock, answer = RLock(), BotocoreStubber.__call__

    def locked(self: Any, *args: Any, **more: Any) -> Any:
        with lock:
            return answer(self, *args, **more)

    BotocoreStubber.__call__ = locked  # type: ignore[method-assign]


_answer_in_turn()
