"""The part of the process environment that is the work queues'."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from fanin.aws.settings import needed, texts_by_name

DOORBELLS = "a JSON object of queues' names and SQS URLs"


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Where the work queues are.

    ``FANIN_QUEUE_TABLE``: the table. ``FANIN_DOORBELL_URL``: the SQS queue that rings for all queues.
    ``FANIN_DOORBELLS``: JSON, the SQS queue by name of those queues of *tenant*, ``FANIN_TENANT``, that have
    one of their own.
    """

    table: str
    doorbell: str
    tenant: str
    doorbells: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> JobSettings:
        """Read *env* (the process environment by default); a missing name is an InvalidRequest."""
        env = os.environ if env is None else env
        return cls(
            table=needed(env, "FANIN_QUEUE_TABLE"),
            doorbell=needed(env, "FANIN_DOORBELL_URL"),
            tenant=needed(env, "FANIN_TENANT"),
            doorbells=texts_by_name(env, "FANIN_DOORBELLS", DOORBELLS),
        )

    def doorbell_of(self, tenant: str, queue: str) -> str:
        """The SQS queue that rings for *queue*."""
        return self.doorbells.get(queue, self.doorbell) if tenant == self.tenant else self.doorbell
