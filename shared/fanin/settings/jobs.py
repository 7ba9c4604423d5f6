"""Settings of the work queues, from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fanin.arguments import text
from fanin.errors import InvalidRequest
from fanin.settings.tracking import checked_texts, needed, texts_by_name

PREFIX_FORM = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,40}")
KEY_FORM = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[A-Za-z0-9/_-]{1,256}")

TAGS = "a JSON object of texts, the value of each tag by its key"


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSettings:
    """The table of the work queues, the tenant, and what is needed to create queues.

    ``FANIN_QUEUE_TABLE``: the name of the table. ``FANIN_TENANT``: the tenant of the queues.
    ``FANIN_DOORBELL_PREFIX``: what the ARNs of the doorbells begin with; only a process that creates queues
    without the API needs it. ``FANIN_DOORBELL_KEY``: the ARN of the KMS key of the doorbells that it creates;
    empty: SQS has the key. ``FANIN_DOORBELL_TAGS``: their tags, a JSON object of texts.
    """

    table: str
    tenant: str
    doorbell_prefix: str = ""
    doorbell_key: str = ""
    doorbell_tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        text(self.table, "table", "table"), text(self.tenant, "tenant", "tenant")
        text(self.doorbell_prefix, "doorbell_prefix", "doorbell_prefix")
        if self.doorbell_prefix and not PREFIX_FORM.fullmatch(self.doorbell_prefix):
            raise InvalidRequest(
                f"FANIN_DOORBELL_PREFIX is {self.doorbell_prefix!r}; it is the stack's output DoorbellPrefix,"
                " arn:aws:sqs:REGION:ACCOUNT:PREFIX"
            )
        text(self.doorbell_key, "doorbell_key", "doorbell_key")
        if self.doorbell_key and not KEY_FORM.fullmatch(self.doorbell_key):
            raise InvalidRequest(
                f"FANIN_DOORBELL_KEY is {self.doorbell_key!r}; it is the ARN of a KMS key,"
                " arn:aws:kms:REGION:ACCOUNT:key/ID"
            )
        checked_texts(self.doorbell_tags, "FANIN_DOORBELL_TAGS", TAGS)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> JobSettings:
        """Read *env*, by default the process environment. Raises InvalidRequest for a missing name."""
        env = os.environ if env is None else env
        return cls(
            table=needed(env, "FANIN_QUEUE_TABLE"),
            tenant=needed(env, "FANIN_TENANT"),
            doorbell_prefix=env.get("FANIN_DOORBELL_PREFIX", ""),
            doorbell_key=env.get("FANIN_DOORBELL_KEY", ""),
            doorbell_tags=texts_by_name(env, "FANIN_DOORBELL_TAGS", TAGS),
        )
