"""What a callback is, who may name it, and how long a webhook is retried. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import ACCOUNT, Secret, is_local, matched, parts_of

NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
QUEUE_ARN = rf"arn:aws[a-z-]*:sqs:{ACCOUNT}:[A-Za-z0-9_-]{{1,80}}(\.fifo)?"
TOPIC_ARN = rf"arn:aws[a-z-]*:sns:{ACCOUNT}:[A-Za-z0-9_-]{{1,256}}(\.fifo)?"
TENANT = r"[^#*\x00-\x1f\x7f-\x9f]{1,255}"
ALL_TENANTS = ("*",)
# Numbers and dots, also in hexadecimal, are an address as the resolver reads it, whatever their form.
PRIVATE_NAME = r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]*))*|.*%.*|(.*\.)?(internal|local|localhost)|"
TIMEOUT, TIMEOUT_MAX = 10.0, 20.0
"""Seconds of one POST."""
RETRIED_FOR = timedelta(hours=24)
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Callback:
    """The SQS *queue*, the SNS *topic* or the webhook at *url* that gets the events of batches that name it.

    *tenants*: those that may name it; empty for the tenant of the account, ``*`` for all. *secret*: has the
    key that signs the requests of a webhook. *timeout*: seconds for one of them.
    """

    name: str
    tenants: tuple[str, ...] = ()
    queue: str = ""
    topic: str = ""
    url: str = ""
    secret: Secret | None = None
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        matched("name", self.name, NAME, "1 to 64 of A-Z a-z 0-9 . _ -, the first of A-Z a-z 0-9")
        self._check_tenants()
        if self.queue:
            matched("queue", self.queue, QUEUE_ARN, "the ARN of an SQS queue")
        elif self.topic:
            self._check_topic()
        else:
            self._check_url()

    @property
    def arn(self) -> str:
        """The ARN of the queue or the topic; empty for a webhook."""
        return self.queue or self.topic

    @property
    def is_local(self) -> bool:
        """Whether it is a webhook on this machine, which only the local run reaches."""
        parts = parts_of(self.url)
        return parts is not None and is_local(parts.hostname)

    def allows(self, tenant: str, own: str) -> bool:
        """Whether batches of *tenant* may name it; *own*: the tenant of the account."""
        return self.tenants == ALL_TENANTS or tenant in (self.tenants or (own,))

    def _check_tenants(self) -> None:
        if self.tenants == ALL_TENANTS:
            return
        for tenant in self.tenants:
            matched("tenants", tenant, TENANT, "names of tenants, or * alone for all")
        if len(set(self.tenants)) != len(self.tenants):
            raise InvalidRequest("tenants names a tenant twice", field="tenants")

    def _check_topic(self) -> None:
        matched("topic", self.topic, TOPIC_ARN, "the ARN of an SNS topic")
        if self.topic.endswith(".fifo"):
            raise InvalidRequest(
                "a rule of EventBridge cannot publish to a FIFO topic, which needs a message group; use a "
                "standard topic, or a FIFO queue",
                field="topic",
            )

    def _check_url(self) -> None:
        parts = parts_of(self.url)
        if parts is None or "@" in parts.netloc:
            raise InvalidRequest(
                "the url of a webhook is an https URL of printable ASCII without user name and fragment",
                field="url",
            )
        if parts.scheme != "https" and not is_local(parts.hostname):
            raise InvalidRequest("a webhook is called over https only; change the url", field="url")
        if not _is_public(parts.hostname or "") and not is_local(parts.hostname):
            raise InvalidRequest("the url of a webhook names a private address", field="url")
        if self.secret is None:
            raise InvalidRequest("a webhook needs a secret, which signs its requests", field="secret")
        if not 0 < self.timeout <= TIMEOUT_MAX:
            raise InvalidRequest(
                f"timeoutSeconds must be more than 0 and at most {TIMEOUT_MAX:.0f}", field="timeoutSeconds"
            )


def check_allowed(name: str, callbacks: Iterable[Callback], tenant: str, own: str) -> None:
    """Raise InvalidRequest, with the callbacks that *tenant* may name, unless *name* is one of them."""
    allowed = sorted(each.name for each in callbacks if each.allows(tenant, own))
    if name not in allowed:
        names = f"use one of {', '.join(allowed)}" if allowed else "this deployment has none for your tenant"
        raise InvalidRequest(f"there is no callback {name!r}: {names}", field="callback")


def pause_seconds(receives: int, jitter: float, at_least: timedelta | None = None) -> int:
    """Return how long a message is hidden after its *receives*-th failed call; *jitter*: from 0 up to 1."""
    grown = min(FIRST_PAUSE * 2 ** min(receives - 1, 20), LONGEST_PAUSE)
    least = at_least.total_seconds() if at_least else 0
    return int(max(grown * (1 - jitter / 4), least))


def _is_public(host: str) -> bool:
    """Return whether *host* is a name, or an address of the internet; a name may end with a dot."""
    host = host.rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return re.fullmatch(PRIVATE_NAME, host) is None
    return address.is_global and not address.is_multicast
