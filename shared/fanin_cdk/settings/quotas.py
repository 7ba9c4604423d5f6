"""The quotas of a tenant: their settings, and the grants that they add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fanin_cdk.grants.group_handlers import GroupHandler
from fanin_cdk.grants.handlers import PUBLIC_ROUTES, H, Handler, joined
from fanin_cdk.grants.job_handlers import JobHandler
from fanin_cdk.settings.config import Config

CHARGED = {
    "create_progress_token": "reads",
    "add_items": "adds",
    "register_task": "tasks",
    "consume_tasks": "tasks",
    "add_jobs": "jobs",
}
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


def served(functions: Mapping[str, Sequence[H]], config: Config) -> list[H]:
    """Return the *functions* of the API, each the handlers of a name, with what the quotas add."""
    return [joined(name, [granted(each, config) for each in some]) for name, some in functions.items()]


def granted(handler: H, config: Config) -> H:
    """Return *handler*, of any kind, with the grants of the limits that it looks up or charges."""
    if not isinstance(handler, Handler):
        lists = {"lists_tenants": True} if _counts_queues(handler, config) else {}
        return replace(handler, lambda_=granted(handler.lambda_, config), **lists)
    if _charged(handler) not in limits(config):
        return handler
    return replace(handler, batches=tuple(sorted({*handler.batches, *CHARGE})))


def _counts_queues(handler: JobHandler | GroupHandler, config: Config) -> bool:
    return bool(config.quota_queues) and handler.lambda_.name in CREATES_QUEUES


def _charged(handler: Handler) -> str | None:
    reads = any(route.startswith("GET ") for route in set(handler.routes) - PUBLIC_ROUTES)
    return "reads" if reads else CHARGED.get(handler.name)
