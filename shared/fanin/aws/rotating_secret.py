"""A value from a secret that is read again from time to time, so that a rotation needs no restart."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from botocore.exceptions import ClientError

from fanin.errors import FaninError

V = TypeVar("V")
logger = logging.getLogger(__name__)


class SecretUnreadable(Exception):
    """The secret cannot be read, or is malformed; the text says which and holds no value."""


@dataclass
class Refreshed(Generic[V]):
    """The value that *read* returns, read at the first use and then again every *refresh* seconds.

    A value that was refused is read again at the next use. While Secrets Manager does not answer, the last
    one is used. *read* raises SecretUnreadable.
    """

    read: Callable[[], V]
    refresh: float
    clock: Callable[[], float] = time.time
    _value: V | None = field(default=None, init=False, repr=False)
    _read_at: float = field(default=0.0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def value(self) -> V:
        """Return the value. Raises SecretUnreadable."""
        with self._lock:
            if self._value is None or not 0 <= self.clock() - self._read_at < self.refresh:
                self._value = self._latest()
                self._read_at = self.clock()
            return self._value

    def refused(self, value: V) -> None:
        """Read the secret again at the next use, unless that was done since *value* was returned."""
        with self._lock:
            if self._value is value:
                self._read_at = float("-inf")

    def _latest(self) -> V:
        try:
            return self.read()
        except SecretUnreadable as error:
            if self._value is None:
                raise
            logger.warning("%s; the value that was read before stays in use", error)
            return self._value


def reason_of(error: FaninError | Exception) -> str:
    """Return why a request for a secret failed, without any text of the answer."""
    return error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
