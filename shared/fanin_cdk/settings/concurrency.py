"""How the stack shares the concurrent executions that Lambda grants it, ``lambda_concurrency``.

A new account has 10 in a region, for all its functions together; what exceeds them is throttled. Reserved
concurrency cannot divide them, because Lambda requires that 100 of an account stay unreserved. So the stack
bounds what takes executions: each queue's event source mapping by its maximum concurrency, of which the
minimum is 2, and the API by its rate, which AWS may apply to each route. What is left is for the duties: the
sweepers, ending events, their confirmations. Those are short and repeated when they are throttled, and share
two; each other stream that a function reads has one more.
"""

from __future__ import annotations

from dataclasses import dataclass

from fanin.names import JOB_DEAD
from fanin_cdk.settings.config import Config

DUTIES = 2
API_MIN = 2
API_PART = 5
"""The API's share is a fifth, at least ``API_MIN``."""
CONSUMER_MIN, CONSUMER_MAX = 2, 10
"""The minimum of Lambda for a mapping, and the most that a mapping takes by default."""
REQUESTS_A_SECOND = 10
"""Requests of 0.1 s that one concurrent execution answers."""
RATE_MAX = 500


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of a deployment.

    *queues*: event source mappings of queues; *consumer*: the maximum concurrency of each. *api*: concurrent
    executions of the API; *rate*, *burst*: its requests a second. *duties*: for all other functions.
    """

    queues: int
    consumer: int
    api: int
    rate: int
    burst: int
    duties: int

    @property
    def needed(self) -> int:
        """The concurrent executions with which no share takes from another."""
        return self.queues * self.consumer + self.api + self.duties


def shares(config: Config) -> Shares:
    """Return the shares of *config*; a setting that is given replaces its computed value."""
    queues = _queues(config)
    duties = DUTIES + _streams(config)
    api = max(API_MIN, config.lambda_concurrency // API_PART)
    if config.throttle_rate:
        api = -(-config.throttle_rate // REQUESTS_A_SECOND)
    share = (config.lambda_concurrency - api - duties) // queues
    rate = config.throttle_rate or min(RATE_MAX, api * REQUESTS_A_SECOND)
    return Shares(
        queues=queues,
        consumer=config.consumer_concurrency or min(CONSUMER_MAX, max(CONSUMER_MIN, share)),
        api=-(-rate // REQUESTS_A_SECOND),
        rate=rate,
        burst=config.throttle_burst or 2 * rate,
        duties=duties,
    )


def shortage(config: Config) -> str:
    """Return the warning for a deployment whose shares exceed its concurrent executions; empty if none do."""
    found = shares(config)
    if found.needed <= config.lambda_concurrency:
        return ""
    return (
        f"lambda_concurrency is {config.lambda_concurrency}, and this stack needs {found.needed} concurrent "
        f"executions: {found.queues} queues of {found.consumer}, {found.api} for the API at {found.rate} "
        f"requests a second, {found.duties} for sweepers, events and streams. Under load they throttle each "
        "other. Raise the quota of the account, then the setting: docs/operations_reference.md#quotas"
    )


def _queues(config: Config) -> int:
    """Return the number of queues that functions consume.

    Those of acks, of users, of tasks, of resumes, of publications, of webhooks and of other functions.
    """
    of_tasks = 2 * config.grouper + config.grouper_registrations
    optional = config.resumes_any + bool(config.allowed_publications) + len(config.webhooks)
    return 1 + len(config.dead_letter_queue_arns) + of_tasks + optional + config.other_queues


def _streams(config: Config) -> int:
    """Return the number of streams that the archive reads, and the one for the events of dead jobs."""
    archived = (2 + 2 * config.grouper + config.queues) if config.archive else 0
    return archived + (JOB_DEAD in config.events)
