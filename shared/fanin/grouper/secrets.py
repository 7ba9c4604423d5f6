"""Headers of requests from Secrets Manager. Their values are in no log line, error, row or ``repr``."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from fanin.aws.calls import send
from fanin.errors import FaninError

logger = logging.getLogger(__name__)
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,8190}[\x21-\x7e])?")
SHORTEST_HIDDEN = 8
"""A shorter part of a value is no credential by itself, and would be found in ordinary text."""


class Secrets(Protocol):
    """The client of Secrets Manager, as far as it is used here."""

    def get_secret_value(self, *, SecretId: str) -> Mapping[str, Any]: ...  # noqa: N803  # as AWS names it


class SecretUnreadable(Exception):
    """The secret of the headers cannot be read, or is malformed; the text says which and holds no value."""


@dataclass
class SecretHeaders:
    """The headers in a secret, which are read at the first use and then again every *refresh* seconds.

    Headers that the batch API refused are read again at the next use. While Secrets Manager does not answer,
    the last ones are used.
    """

    client: Secrets
    secret: str
    refresh: float
    clock: Callable[[], float] = time.time
    _headers: Mapping[str, str] | None = field(default=None, init=False, repr=False)
    _read_at: float = field(default=0.0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def headers(self) -> Mapping[str, str]:
        """Return the headers. Raises SecretUnreadable."""
        with self._lock:
            if self._headers is None or not 0 <= self.clock() - self._read_at < self.refresh:
                self._headers = self._read()
                self._read_at = self.clock()
            return self._headers

    def refused(self, headers: Mapping[str, str]) -> None:
        """Read the secret again at the next use, unless that was done since *headers* were returned."""
        with self._lock:
            if self._headers is headers:
                self._read_at = float("-inf")

    def _read(self) -> Mapping[str, str]:
        try:
            return headers_of(send(self.client.get_secret_value, {"SecretId": self.secret}))
        except (SecretUnreadable, FaninError, ClientError, BotoCoreError) as error:
            reason = _reason(error)
        if self._headers is None:
            raise SecretUnreadable(reason)
        logger.warning("%s; the headers that were read before stay in use", reason)
        return self._headers


def headers_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers in the answer of Secrets Manager. Raises SecretUnreadable, without any value."""
    try:
        given = json.loads(answer["SecretString"])
    except (KeyError, ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not given or not all(map(_is_header, given.items())):
        # "from None": the text of a JSON error is a part of the document.
        raise SecretUnreadable(
            "the secret of the headers must be a JSON object of header names and printable ASCII values"
        ) from None
    return given


def without_secrets(text: str, headers: Mapping[str, str]) -> str:
    """Return *text* with the values of *headers* replaced, whole or without their scheme."""
    values = {part for value in headers.values() for part in (value, value.rpartition(" ")[2])}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= SHORTEST_HIDDEN:
            text = text.replace(value, "***")
    return text


def _is_header(header: tuple[str, Any]) -> bool:
    name, value = header
    return (
        bool(HEADER_NAME.fullmatch(name)) and isinstance(value, str) and bool(HEADER_VALUE.fullmatch(value))
    )


def _reason(error: Exception) -> str:
    if isinstance(error, SecretUnreadable):
        return str(error)
    code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
    return f"the secret of the headers cannot be read: {code}"
