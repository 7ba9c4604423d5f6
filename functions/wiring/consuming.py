"""Builds what the consumers of the stack's own queues share, without the tracker, which some do not need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fanin.aws import clients
from fanin.aws.isolation import Isolation
from fanin.aws.settings import Settings
from fanin.errors import InvalidRequest


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return the settings in the environment. Raises RuntimeError, because callers cannot correct them."""
    try:
        return Settings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


def isolate(records: Sequence[Mapping[str, Any]]) -> Collection[str]:
    """Send invalid messages to the dead-letter queue of their queue, and return the ids of those sent."""
    url = settings().own_dead_letter_queue
    return Isolation(clients.sqs(), url).isolate(records) if url else ()
