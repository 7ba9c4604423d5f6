"""The AWS actions that a handler sends, compared with those that the template grants its function."""

from __future__ import annotations

from typing import Any

from fanin.aws import clients
from tests.infra.sending import asked_of
from tests.infra.test_functions import GRANTED, QUEUE_EATER

TABLES = {
    "Batches": "TablesBatches",
    "Pages": "TablesPages",
    "GroupTasks": "GrouperTablesTasks",
    "GroupLeases": "GrouperTablesLeases",
    "GroupBundles": "GrouperTablesBundles",
    "Queue": "JobsTable",
}
"""The tables of the tests, and how the logical ids of the template's begin."""
BATCHES_OF = {
    "DeleteMessageBatch": "DeleteMessage",
    "SendMessageBatch": "SendMessage",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
    "HeadObject": "GetObject",
}
"""Operations that ask for the action of another one."""
OF_QUEUES = {"fail_dead_letter_messages": (*QUEUE_EATER, "sqs:SendMessage")}
"""Granted on the queues that a setting names: test_tables_and_queues.py compares these grants."""
SENT: set[tuple[str, str]] = set()


def record() -> None:
    """Record the requests of the handlers' clients, which are new."""
    SENT.clear()
    for service in (clients.dynamodb, clients.sqs, clients.events, clients.s3):
        service().meta.events.register("provide-client-params", _note)  # type: ignore[attr-defined]


def _note(params: dict[str, Any], model: Any, **_: Any) -> None:
    service = model.service_model.signing_name
    if service == "dynamodb":
        SENT.update((action, in_template(table)) for action, table in asked_of(params, model.name))
    else:
        SENT.add((f"{service}:{BATCHES_OF.get(model.name, model.name)}", "*"))


def in_template(table: str) -> str:
    """Return how the logical id of a table of the tests begins, and its index; of another table, its name."""
    name, _, index = table.partition("/")
    of_template = TABLES.get(name, name)
    return f"{of_template}/{index}" if index else of_template


def ungranted(handler: str) -> list[tuple[str, str]]:
    """Return what was sent since the last call and is not granted to *handler*, and forget what was sent."""
    sent = set(SENT)
    SENT.clear()
    if handler not in GRANTED:
        return []
    of = GRANTED[handler].items()
    granted = {
        (action, name if action.startswith("dynamodb:") else "*")
        for name, actions in of
        for action in actions
    }
    return sorted(sent - granted - {(action, "*") for action in OF_QUEUES.get(handler, ())})
