"""The group-batcher's handlers, and what each is granted on its tables, queues and bus."""

from __future__ import annotations

from dataclasses import dataclass

from infra.handlers import CHANGE, CHANGE_PAGES, DEMO_WORKER, Handler

GET = ("dynamodb:GetItem",)
UPDATE = ("dynamodb:GetItem", "dynamodb:UpdateItem")
# A transaction requires the actions of its parts, which are updates.
UPDATE_MANY = ("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem")
# A task is put; one that exists is read.
REGISTER = ("dynamodb:GetItem", "dynamodb:PutItem")
QUERY, SCAN = ("dynamodb:Query",), ("dynamodb:Scan",)
TASKS, BUNDLES = "GroupTasks", "GroupBundles"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupHandler:
    """A Lambda function of the group-batcher. *lambda_* has its name and its grants on the tracker's tables.

    ``tasks``, ``leases``, ``bundles``: DynamoDB actions on each table; ``open_index``, ``live_index``,
    ``lane_index``: on the index of tasks, and on those of bundles. ``sends``: the queues that it sends to.
    ``publishes``: whether it puts events on the bus.
    """

    lambda_: Handler
    tasks: tuple[str, ...] = ()
    leases: tuple[str, ...] = ()
    bundles: tuple[str, ...] = ()
    open_index: tuple[str, ...] = ()
    live_index: tuple[str, ...] = ()
    lane_index: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    publishes: bool = False


GROUP_ROUTES = (
    GroupHandler(
        # The receipt of an idempotency key that comes with a task id is stored in the batches table.
        lambda_=Handler(
            name="register_task", route="POST /v1/tasks", batches=("dynamodb:GetItem", "dynamodb:PutItem")
        ),
        tasks=REGISTER,
        sends=(TASKS,),
    ),
    GroupHandler(lambda_=Handler(name="list_tasks", route="GET /v1/tasks"), open_index=QUERY),
    GroupHandler(lambda_=Handler(name="get_task", route="GET /v1/tasks/{taskId}"), tasks=GET, bundles=GET),
    GroupHandler(
        lambda_=Handler(name="list_bundles", route="GET /v1/bundles"), bundles=GET, lane_index=QUERY
    ),
    GroupHandler(lambda_=Handler(name="get_bundle", route="GET /v1/bundles/{bundleId}"), bundles=GET),
)
LEAD_TASKS = GroupHandler(
    # Twice a leader's lease, so that the first message of a delivery has the time to lead.
    lambda_=Handler(name="lead_tasks", timeout_seconds=30),
    tasks=UPDATE_MANY,
    leases=UPDATE,
    bundles=UPDATE,
    open_index=QUERY,
    sends=(TASKS, BUNDLES),
)
HANDLE_BUNDLE = GroupHandler(
    # The lease of a call, 60 s, and as long to apply the outcome to 1,000 members.
    lambda_=Handler(name="handle_bundle", batches=CHANGE, pages=CHANGE_PAGES, timeout_seconds=120),
    tasks=UPDATE_MANY,
    leases=UPDATE,
    bundles=UPDATE,
    sends=(TASKS, BUNDLES),
    publishes=True,
)
SWEEP_GROUPS = GroupHandler(
    lambda_=Handler(name="sweep_groups", timeout_seconds=300),
    bundles=UPDATE,
    open_index=SCAN,
    live_index=QUERY,
    sends=(TASKS, BUNDLES),
)
# It registers tasks for some of its messages; the end of a task acks its item.
DEMO_REGISTRANT = GroupHandler(lambda_=DEMO_WORKER, tasks=REGISTER, sends=(TASKS,))
