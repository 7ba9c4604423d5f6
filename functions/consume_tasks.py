"""Consumer of the registrations queue: registers the task of each message."""

from functools import partial
from typing import Any

from fanin import names
from fanin.api.task_messages import new_task_of
from fanin.aws import clients
from fanin.grouper.use_cases.registrations import register_messages
from functions.invocation_metrics.created import counting_tasks
from functions.invocation_metrics.measuring import count, measured
from functions.wiring import consuming, grouping
from functions.wiring.consuming import hide
from functions.wiring.quotas import charge
from functions.wiring.starting import at_start

at_start(clients.sqs)


@measured
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    tenant = consuming.settings().tenant
    registering, isolate = counting_tasks(grouping.registering()), consuming.isolate
    consumed = register_messages(
        registering, tenant, event["Records"], new_task_of, isolate, partial(charge, tenant, "tasks"), hide
    )
    count({names.REGISTRATIONS_RETURNED: len(consumed.failed)})
    return consumed.response()
