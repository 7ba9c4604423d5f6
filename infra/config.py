"""The settings of the project's own stack: those of the construct and of the Spark jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Literal

from fanin_cdk.settings.config import Config, ConfigError
from fanin_cdk.settings.rules import QUEUE_ARN, Rules, between, distinct, matches, one_of

Engine = Literal["off", "glue", "emr"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StackConfig(Config):
    """The settings of one deployment of the stack; ``stage`` is part of its name.

    ``grouper``, ``queues``: unlike those of the construct, added by default.
    ``alarm_email``: e-mail address for alarms; not with ``monitoring=off``. Default: none.
    ``analytics``: runs the Spark jobs on AWS Glue (``glue``) or EMR Serverless (``emr``), not on ``local``.
    ``analytics_workers``: the maximum number of workers of 4 cores and 16 GB for one run on Glue, or for all
    runs on EMR together; 2 to 299, including the driver.
    ``analytics_queue_arns``, ``analytics_bucket_arns``: the SQS queues that jobs may send to, and the S3
    buckets that they may read (datasets, ack logs); lists, or the ARNs separated by commas.
    ``analytics_schedule``: when the audit and the history run, ``cron(...)`` in UTC. Default: on demand.
    """

    grouper: bool = True
    queues: bool = True
    alarm_email: str = ""
    analytics: Engine = "off"
    analytics_workers: int = 10
    analytics_queue_arns: tuple[str, ...] = ()
    analytics_bucket_arns: tuple[str, ...] = ()
    analytics_schedule: str = ""

    def __post_init__(self) -> None:
        self._check_values(RULES)
        if self.keep_dead_letter_messages and not self.dead_letter_queue_arns:
            raise ConfigError(
                "keep_dead_letter_messages needs dead_letter_queue_arns: it keeps messages of these queues"
            )
        if self.alarm_email and self.monitoring == "off":
            raise ConfigError("alarm_email needs alarms: set monitoring to lean or full")
        if self.analytics != "off" and self.target == "local":
            raise ConfigError("analytics runs on AWS only; on this machine run python -m pipeline.jobs.NAME")
        # A dataclass with slots is made twice, and super() without arguments names the first of the two.
        Config.__post_init__(self)

    @property
    def of_tracker(self) -> dict[str, Any]:
        """The keyword arguments of FaninTracker."""
        return {each.name: getattr(self, each.name) for each in fields(Config)}


def _is_schedule(text: Any) -> bool:
    """Return whether *text* is empty or a cron expression; AWS requires ``?`` for one of the two days."""
    fields = text[5:-1].split(" ")
    return not text or (bool(re.fullmatch(CRON, text)) and (fields[2] == "?") != (fields[4] == "?"))


BUCKET_ARN = r"arn:aws[a-z-]*:s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
# Minute, hour, day of the month, month, day of the week, year.
CRON = r"cron\([0-9*,/-]+ [0-9*,/-]+ [0-9*?,/LW-]+ [0-9A-Z*,/-]+ [0-9A-Z*?,/#-]+ [0-9*,/-]+\)"

RULES: Rules = {
    "analytics": one_of(Engine),
    "analytics_workers": between(2, 299),
    "analytics_queue_arns": (distinct(QUEUE_ARN), "ARNs of different SQS queues"),
    "analytics_bucket_arns": (distinct(BUCKET_ARN), "ARNs of different S3 buckets"),
    "analytics_schedule": (
        _is_schedule,
        "cron(...) of six fields with one space between them; one of day-of-month and day-of-week is ?",
    ),
    "alarm_email": (matches(r"|[^@\s]+@[^@\s]+"), "an e-mail address"),
}
