"""All scenarios, and the handlers that the stack deploys."""

from __future__ import annotations

from fanin_cdk.grants import group_handlers, handlers, job_handlers
from fanin_cdk.grants.group_handlers import GroupHandler
from fanin_cdk.grants.handlers import Handler
from fanin_cdk.grants.job_handlers import JobHandler
from tests.crashes.group_scenarios import GROUPS
from tests.crashes.job_scenarios import JOBS
from tests.crashes.log_scenarios import LOGS
from tests.crashes.publication_scenarios import PUBLICATIONS
from tests.crashes.result_scenarios import RESULTS
from tests.crashes.scenario import Scenario
from tests.crashes.tracker_scenarios import TRACKER

SCENARIOS: list[Scenario] = [*TRACKER, *GROUPS, *JOBS, *RESULTS, *PUBLICATIONS, *LOGS]


def deployed() -> list[str]:
    """Return the names of all handlers in the modules that list them, alone or in a tuple."""
    found: set[str] = set()
    for module in (handlers, group_handlers, job_handlers):
        for value in vars(module).values():
            found |= {_name(each) for each in (value if isinstance(value, tuple) else (value,))} - {""}
    return sorted(found)


def _name(value: object) -> str:
    if isinstance(value, GroupHandler | JobHandler):
        return value.lambda_.name
    return value.name if isinstance(value, Handler) else ""
