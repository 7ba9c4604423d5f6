"""The quotas of a tenant: their settings, and the grants that they add."""

from __future__ import annotations

from dataclasses import replace

from fanin_cdk.grants.handlers import Handler
from fanin_cdk.grants.job_handlers import JobHandler
from fanin_cdk.settings.config import Config

CHARGED = {"add_items": "adds", "register_task": "tasks", "consume_tasks": "tasks", "add_jobs": "jobs"}
"""The handlers that charge their requests to a rate, and its name, beside the routes that read: these charge
``reads``. Opens use what they are granted anyway.
"""
CREATES_QUEUES = {"add_jobs", "put_queue"}
"""The handlers that look up how many work queues a tenant has, if that is limited."""
CHARGE = ("dynamodb:GetItem", "dynamodb:UpdateItem")


def limits(config: Config) -> dict[str, int]:
    """Return the limits that are set, by the names of the quotas in the settings file."""
    given = {
        "openBatches": config.quota_open_batches,
        "adds": config.quota_adds,
        "tasks": config.quota_tasks,
        "jobs": config.quota_jobs,
        "queues": config.quota_queues,
        "reads": config.quota_reads,
    }
    return {name: limit for name, limit in given.items() if limit}


def granted(handler: Handler, config: Config) -> Handler:
    """Return *handler* with the grants of the rate that it charges, if the rate is limited."""
    if _charged(handler) not in limits(config):
        return handler
    return replace(handler, batches=tuple(sorted({*handler.batches, *CHARGE})))


def counting(handler: JobHandler, config: Config) -> JobHandler:
    """Return *handler* with the grant to list a tenant's queues, if it creates some and they are limited."""
    is_limited = config.quota_queues and handler.lambda_.name in CREATES_QUEUES
    return replace(handler, lists_tenants=True) if is_limited else handler


def _charged(handler: Handler) -> str | None:
    reads = handler.route.startswith("GET ")
    return "reads" if reads else CHARGED.get(handler.name)
