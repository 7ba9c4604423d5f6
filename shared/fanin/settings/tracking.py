"""Settings of the tracker, from the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from fanin.arguments import text
from fanin.errors import InvalidRequest

OUTPUTS = {
    "FANIN_BATCHES_TABLE": "BatchesTable",
    "FANIN_PAGES_TABLE": "PagesTable",
    "FANIN_RESULTS_BUCKET": "ResultsBucket",
    "FANIN_COMPLETIONS_BUS": "BusName",
    "FANIN_QUEUE_TABLE": "QueueTable",
    "FANIN_DOORBELL_PREFIX": "DoorbellPrefix",
}
"""The stack's output for each variable that a process of the user needs."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Names of the tracker's tables."""

    batches: str
    pages: str

    def __post_init__(self) -> None:
        text(self.batches, "batches", "batches"), text(self.pages, "pages", "pages")


@dataclass(frozen=True, slots=True)
class JwtClaims:
    """The claims of a JWT that name the tenant and, of that tenant, the caller."""

    tenant: str = "sub"
    caller: str = "sub"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the deployed functions of the tracker.

    ``FANIN_BATCHES_TABLE``, ``FANIN_PAGES_TABLE``: table names.
    ``FANIN_TENANT``: the tenant of consumers, whose messages have no caller: the account's own, unless the
    stack names another for one of its queues.
    ``FANIN_OWN_DEAD_LETTER_QUEUE``: the dead-letter queue of the queue that the function consumes; only the
    consumers that isolate invalid messages have it.
    ``FANIN_KEPT_MESSAGES_QUEUE``: the queue that keeps dead-letter messages before they are deleted.
    ``FANIN_JWT_TENANT_CLAIM``, ``FANIN_JWT_CALLER_CLAIM``: the claims of :class:`JwtClaims`.
    ``FANIN_PAGE_BITS``: items in each page of a NEW batch; a batch keeps the size it was opened with.
    ``FANIN_COMPLETIONS_BUS``: the name of the bus on which the process that completes a batch puts its event
    at once; empty: the stream alone sends it.
    ``FANIN_RESULTS_BUCKET``: the bucket of the results of batches; empty: batches keep none.
    ``FANIN_ACKS_LOG``: the prefix of S3 to which the acks queue writes in place of the tables; or empty.
    ``FANIN_ALLOW_ANONYMOUS``: ``true`` only in the local run, whose requests are not signed.
    """

    tables: Tables
    tenant: str
    page_bits: int = 1024
    allow_anonymous: bool = False
    jwt: JwtClaims = JwtClaims()
    own_dead_letter_queue: str = ""
    kept_messages_queue: str = ""
    completions_bus: str = ""
    results_bucket: str = ""
    acks_log: str = ""

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Read *env*, by default the process environment. Raises InvalidRequest for a missing name."""
        env = os.environ if env is None else env
        return cls(
            tables=Tables(needed(env, "FANIN_BATCHES_TABLE"), needed(env, "FANIN_PAGES_TABLE")),
            tenant=needed(env, "FANIN_TENANT"),
            page_bits=_page_bits(env.get("FANIN_PAGE_BITS", "1024")),
            allow_anonymous=env.get("FANIN_ALLOW_ANONYMOUS", "false") == "true",
            jwt=JwtClaims(env.get("FANIN_JWT_TENANT_CLAIM", "sub"), env.get("FANIN_JWT_CALLER_CLAIM", "sub")),
            own_dead_letter_queue=env.get("FANIN_OWN_DEAD_LETTER_QUEUE", ""),
            kept_messages_queue=env.get("FANIN_KEPT_MESSAGES_QUEUE", ""),
            completions_bus=env.get("FANIN_COMPLETIONS_BUS", ""),
            results_bucket=env.get("FANIN_RESULTS_BUCKET", ""),
            acks_log=env.get("FANIN_ACKS_LOG", ""),
        )


def needed(env: Mapping[str, str], name: str) -> str:
    """Return the value of *name* in *env*. Raises InvalidRequest if it is missing or empty."""
    value = env.get(name, "")
    if not value:
        raise InvalidRequest(f"the environment variable {name} is not set: {_origin(name)}")
    return value


def _origin(name: str) -> str:
    if name == "FANIN_TENANT":
        return "it is the id of the account; on this machine `fanin local env` prints it"
    if name in OUTPUTS:
        return f"it is the stack's output {OUTPUTS[name]}; on this machine `fanin local env` prints it"
    return "the stack sets it for its functions"


def texts_by_name(env: Mapping[str, str], name: str, takes: str) -> dict[str, str]:
    """Return the JSON object of texts in *name*, empty if it is not set. *takes*: its form, for the error."""
    try:
        texts = json.loads(env.get(name, "{}"))
    except ValueError:
        texts = None
    return checked_texts(texts, name, takes)


def checked_texts(texts: object, name: str, takes: str) -> dict[str, str]:
    """Return *texts*, texts by name. Raises InvalidRequest for anything else."""
    if not isinstance(texts, Mapping) or not all(
        isinstance(each, str) for pair in texts.items() for each in pair
    ):
        raise InvalidRequest(f"{name} takes {takes}")
    return dict(texts)


def _page_bits(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 2 <= int(text) <= 1024:
        raise InvalidRequest(f"FANIN_PAGE_BITS is {text!r}; it takes a whole number from 2 to 1024")
    return int(text)
