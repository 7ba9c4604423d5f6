"""Headers of requests from Secrets Manager. Their values are in no log line, error, row or ``repr``."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from fanin.aws.calls import send
from fanin.aws.rotating_secret import Refreshed, SecretUnreadable, reason_of
from fanin.errors import FaninError

__all__ = ["SecretHeaders", "SecretUnreadable", "headers_of", "without_secrets"]
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,8190}[\x21-\x7e])?")
SHORTEST_HIDDEN = 8
"""A shorter part of a value is no credential by itself, and would be found in ordinary text."""


class Secrets(Protocol):
    """The client of Secrets Manager, as far as it is used here."""

    def get_secret_value(self, *, SecretId: str) -> Mapping[str, Any]: ...  # noqa: N803  # as AWS names it


@dataclass
class SecretHeaders:
    """The headers in a secret, which are read at the first use and then again every *refresh* seconds.

    Headers that the batch API refused are read again at the next use.
    """

    client: Secrets
    secret: str
    refresh: float
    clock: Callable[[], float] = time.time
    _kept: Refreshed[Mapping[str, str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._kept = Refreshed(self._read, self.refresh, self.clock)

    def headers(self) -> Mapping[str, str]:
        """Return the headers. Raises SecretUnreadable."""
        return self._kept.value()

    def refused(self, headers: Mapping[str, str]) -> None:
        """Read the secret again at the next use, unless that was done since *headers* were returned."""
        self._kept.refused(headers)

    def _read(self) -> Mapping[str, str]:
        try:
            answer = send(self.client.get_secret_value, {"SecretId": self.secret})
        except (FaninError, ClientError, BotoCoreError) as error:
            reason = f"the secret of the headers cannot be read: {reason_of(error)}"
            raise SecretUnreadable(reason) from error
        return headers_of(answer)


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
