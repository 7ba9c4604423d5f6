"""The quotas of a tenant: their settings, and the grants that they add."""

from __future__ import annotations

from dataclasses import replace

from fanin_cdk.config import Config
from fanin_cdk.handlers import Handler

CHARGED = {"add_items": "adds", "register_task": "tasks", "consume_tasks": "tasks", "add_jobs": "jobs"}
"""The handlers that charge their requests to a rate, and its name. Opens use what they are granted anyway."""
CHARGE = ("dynamodb:GetItem", "dynamodb:UpdateItem")


def limits(config: Config) -> dict[str, int]:
    """Return the limits that are set, by the names of the quotas in the settings file."""
    given = {
        "openBatches": config.quota_open_batches,
        "adds": config.quota_adds,
        "tasks": config.quota_tasks,
        "jobs": config.quota_jobs,
    }
    return {name: limit for name, limit in given.items() if limit}


def granted(handler: Handler, config: Config) -> Handler:
    """Return *handler* with the grants of the rate that it charges, if the rate is limited."""
    if CHARGED.get(handler.name) not in limits(config):
        return handler
    return replace(handler, batches=tuple(sorted({*handler.batches, *CHARGE})))
