"""Settings of the work queues, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from fanin.aws.settings import needed, texts_by_name

DOORBELLS = "a JSON object: the name of a queue to the URL of its SQS queue"


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The table and the doorbells of the work queues.

    ``FANIN_QUEUE_TABLE``: the name of the table. ``FANIN_DOORBELL_URL``: the SQS queue that is the doorbell
    of all queues without their own. ``FANIN_DOORBELLS``: JSON, the URL of the doorbell by the name of the
    queue, for queues of *tenant*, ``FANIN_TENANT``.
    """

    table: str
    doorbell: str
    tenant: str
    doorbells: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> JobSettings:
        """Read *env*, by default the process environment. Raises InvalidRequest for a missing name."""
        env = os.environ if env is None else env
        return cls(
            table=needed(env, "FANIN_QUEUE_TABLE"),
            doorbell=needed(env, "FANIN_DOORBELL_URL"),
            tenant=needed(env, "FANIN_TENANT"),
            doorbells=texts_by_name(env, "FANIN_DOORBELLS", DOORBELLS),
        )

    def doorbell_of(self, tenant: str, queue: str) -> str:
        """Return the URL of the doorbell of *queue*."""
        return self.doorbells.get(queue, self.doorbell) if tenant == self.tenant else self.doorbell
