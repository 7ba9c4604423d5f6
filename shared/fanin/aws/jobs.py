"""Settings of the work queues, from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fanin.aws.settings import needed
from fanin.errors import InvalidRequest

PREFIX_FORM = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSettings:
    """The table of the work queues, the tenant, and what is needed to create queues.

    ``FANIN_QUEUE_TABLE``: the name of the table. ``FANIN_TENANT``: the tenant of the queues.
    ``FANIN_DOORBELL_PREFIX``: what the ARNs of the doorbells begin with; only a process that creates queues
    without the API needs it.
    """

    table: str
    tenant: str
    doorbell_prefix: str = ""

    def __post_init__(self) -> None:
        if self.doorbell_prefix and not PREFIX_FORM.fullmatch(self.doorbell_prefix):
            raise InvalidRequest(
                f"FANIN_DOORBELL_PREFIX is {self.doorbell_prefix!r}; it is the stack's output DoorbellPrefix,"
                " arn:aws:sqs:REGION:ACCOUNT:PREFIX"
            )

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> JobSettings:
        """Read *env*, by default the process environment. Raises InvalidRequest for a missing name."""
        env = os.environ if env is None else env
        return cls(
            table=needed(env, "FANIN_QUEUE_TABLE"),
            tenant=needed(env, "FANIN_TENANT"),
            doorbell_prefix=env.get("FANIN_DOORBELL_PREFIX", ""),
        )
