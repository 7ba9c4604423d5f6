"""The group-batcher's handlers, and what each is granted on its tables, queues and bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil

from fanin.grouper.settings.policy import Policies
from fanin_cdk.grants.handlers import CHANGE, CHANGE_PAGES, KEEP, Handler, all_of

GET = ("dynamodb:GetItem",)
UPDATE = ("dynamodb:GetItem", "dynamodb:UpdateItem")
# A transaction requires the actions of its parts, which are updates.
UPDATE_MANY = ("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem")
# A task is put; one that exists is read.
REGISTER = ("dynamodb:GetItem", "dynamodb:PutItem")
READ_MANY = ("dynamodb:BatchGetItem",)
QUERY, SCAN = ("dynamodb:Query",), ("dynamodb:Scan",)
TASKS, BUNDLES, REGISTRATIONS = "GroupTasks", "GroupBundles", "GroupRegistrations"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupHandler:
    """A Lambda function of the group-batcher. *lambda_* has its name and its grants on the tracker's tables.

    ``tasks``, ``leases``, ``bundles``: DynamoDB actions on each table; ``open_index``, ``live_index``,
    ``lane_index``, ``targets_index``: on the indexes of tasks, of bundles and of leases. ``sends``: the
    queues that it sends to. ``publishes``: whether it puts events on the bus. ``calls``: whether it calls the
    batch APIs, with the grants that their settings need.
    """

    lambda_: Handler
    tasks: tuple[str, ...] = ()
    leases: tuple[str, ...] = ()
    bundles: tuple[str, ...] = ()
    open_index: tuple[str, ...] = ()
    live_index: tuple[str, ...] = ()
    lane_index: tuple[str, ...] = ()
    targets_index: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    publishes: bool = False
    calls: bool = False


GROUP_API: Mapping[str, Sequence[GroupHandler]] = {
    "write_tasks": (
        GroupHandler(
            # The receipt of an idempotency key that comes with a task id is stored in the batches table.
            lambda_=Handler(
                name="register_task",
                routes=("POST /v1/tasks",),
                batches=("dynamodb:GetItem", "dynamodb:PutItem"),
            ),
            tasks=REGISTER,
            sends=(TASKS,),
        ),
    ),
    "read_tasks": (
        GroupHandler(
            lambda_=Handler(name="list_tasks", routes=("GET /v1/tasks",)),
            tasks=READ_MANY,
            bundles=GET,
            open_index=QUERY,
            lane_index=QUERY,
        ),
        GroupHandler(
            lambda_=Handler(name="get_task", routes=("GET /v1/tasks/{taskId}",)), tasks=GET, bundles=GET
        ),
        GroupHandler(
            lambda_=Handler(name="list_bundles", routes=("GET /v1/bundles",)), bundles=GET, lane_index=QUERY
        ),
        GroupHandler(lambda_=Handler(name="get_bundle", routes=("GET /v1/bundles/{bundleId}",)), bundles=GET),
        GroupHandler(
            lambda_=Handler(name="list_targets", routes=("GET /v1/targets",)),
            leases=GET,
            bundles=GET,
            open_index=QUERY,
            lane_index=QUERY,
            targets_index=QUERY,
        ),
    ),
}
GROUP_ROUTES = all_of(GROUP_API)
CONSUME_TASKS = GroupHandler(
    # A batch API that is a function may register the tasks that follow from its own.
    lambda_=Handler(name="consume_tasks", timeout_seconds=30, loops=True),
    tasks=REGISTER,
    sends=(TASKS,),
)
LEAD_TASKS = GroupHandler(
    lambda_=Handler(name="lead_tasks", loops=True),
    tasks=UPDATE_MANY,
    leases=UPDATE,
    bundles=UPDATE,
    open_index=QUERY,
    sends=(TASKS, BUNDLES),
)
HANDLE_BUNDLE = GroupHandler(
    lambda_=Handler(name="handle_bundle", batches=CHANGE, pages=CHANGE_PAGES, results=(KEEP,), loops=True),
    tasks=UPDATE_MANY,
    leases=UPDATE,
    bundles=UPDATE,
    sends=(TASKS, BUNDLES),
    publishes=True,
    calls=True,
)
SWEEP_GROUPS = GroupHandler(
    lambda_=Handler(name="sweep_groups", timeout_seconds=300),
    bundles=UPDATE,
    open_index=SCAN,
    live_index=QUERY,
    sends=(TASKS, BUNDLES),
)
LEAST_SECONDS = 30
"""No function that sends requests to AWS has less: they take up to 24 s."""
TO_APPLY = timedelta(seconds=60)
"""As long as the outcome of a call may take to be applied to 1,000 members."""


def lead_tasks(policies: Policies) -> GroupHandler:
    """Return LEAD_TASKS with twice the longest lease, so that the first message of a delivery can lead."""
    return _lasting(LEAD_TASKS, 2 * policies.longest_lease)


def handle_bundle(policies: Policies) -> GroupHandler:
    """Return HANDLE_BUNDLE with the longest lease of a call, and the time to apply its outcome."""
    return _lasting(HANDLE_BUNDLE, policies.longest_call_lease + TO_APPLY)


def _lasting(handler: GroupHandler, duration: timedelta) -> GroupHandler:
    seconds = max(LEAST_SECONDS, ceil(duration.total_seconds()))
    return replace(handler, lambda_=replace(handler.lambda_, timeout_seconds=seconds))
