"""What a cold start of each handler imports and makes, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fanin_cdk.grants import group_handlers, handlers, job_handlers

ROOT = Path(__file__).parents[2]
EDGE = "fanin.api.edge"
HANDLERS = sorted(path.stem for path in (ROOT / "functions").glob("*.py") if path.stem != "__init__")
ROUTES = [name for name in HANDLERS if EDGE in (ROOT / "functions" / f"{name}.py").read_text()]
CONSUMERS = [name for name in HANDLERS if name not in ROUTES]
SERVED = {
    f"api.{function}": [getattr(each, "lambda_", each).name for each in served]
    for functions in (
        handlers.together(handlers.API, handlers.PUBLICATION_API, handlers.TOKEN_API),
        group_handlers.GROUP_API,
        job_handlers.JOB_API,
    )
    for function, served in functions.items()
}
FUNCTIONS = [*CONSUMERS, *SERVED]
WITHOUT_TRACKER = (
    "archive_changes",
    "call_webhook",
    "consume_tasks",
    "handle_bundle",
    "lead_tasks",
    "publish_dead_jobs",
    "sweep_groups",
)
LISTS = {"fanin.grouper.listing", "fanin.grouper.targets"}
# What a start makes beside, or instead of, the DynamoDB client.
CLIENTS = {
    "archive_changes": {"s3"},
    "call_webhook": {"secrets", "sqs"},
    "publish_dead_jobs": {"events"},
    "publish_endings": {"dynamodb", "events"},
} | {
    name: {"dynamodb", "sqs"}
    for name in ("api.write_queues", "api.write_tasks", "consume_tasks", "lead_tasks")
}
NOWHERE = {"boto3", "s3transfer", "asyncio", "aws_lambda_powertools.event_handler.openapi.models"}
CONSUMER_MODULES_MAX = 496
ROUTE_MODULES_MAX = 746
ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "eu-west-1",
    "FANIN_BATCHES_TABLE": "batches",
    "FANIN_PAGES_TABLE": "pages",
    "FANIN_TENANT": "111122223333",
    "FANIN_GROUP_TASKS_TABLE": "tasks",
    "FANIN_GROUP_LEASES_TABLE": "leases",
    "FANIN_GROUP_BUNDLES_TABLE": "bundles",
    "FANIN_GROUPER_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/111122223333/tasks",
    "FANIN_BUNDLES_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/111122223333/bundles",
}
REPORT = """
import json, os, sys
from fanin.aws import clients
names = ("dynamodb", "events", "functions", "s3", "secrets", "sqs")
made = [name for name in names if getattr(clients, name)._own._created]
print(json.dumps({"modules": list(sys.modules), "made": made}), flush=True)
os._exit(0)  # to tear all modules down takes as long as to import some
"""
EACH = """
import os
for name in {names}:
    if not os.fork():
        __import__(name)
        break
    os.wait()
else:
    raise SystemExit
"""
"""Goes on in a process of each name, which begins with what the others import, too."""
REQUEST = {
    "version": "2.0",
    "rawPath": "/v1/batches/906d42f0-ef2f-802e-aaee-3ecf7139c8b7",
    "rawQueryString": "",
    "headers": {"accept": "application/json"},
    "pathParameters": {"batchId": "906d42f0-ef2f-802e-aaee-3ecf7139c8b7"},
    "requestContext": {
        "requestId": "r",
        "stage": "$default",
        "http": {"method": "GET", "path": "/v1/batches/906d42f0-ef2f-802e-aaee-3ecf7139c8b7"},
    },
}


def started(program: str, on_lambda: bool = True) -> list[dict[str, Any]]:
    """The modules and the clients of each process that has run *program*."""
    search = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    search["AWS_EC2_METADATA_DISABLED"] = "true"
    env = search | (ENVIRONMENT | {"AWS_LAMBDA_FUNCTION_NAME": "f"} if on_lambda else {})
    out = subprocess.check_output([sys.executable, "-c", program + "\n" + REPORT], env=env, text=True)
    return [json.loads(line) for line in out.splitlines() if line.startswith('{"modules"')]


@cache
def starts() -> dict[str, dict[str, Any]]:
    """What each function has started with."""
    found: dict[str, dict[str, Any]] = {}
    for names, shared in ((CONSUMERS, "fanin.aws.clients"), (SERVED, EDGE)):
        program = f"import botocore.client, {shared}" + EACH.format(
            names=[f"functions.{name}" for name in names]
        )
        found |= zip(names, started(program), strict=True)
    return found


def modules(name: str) -> set[str]:
    return set(starts()[name]["modules"])


def of_package(name: str, loaded: set[str]) -> set[str]:
    return {module for module in loaded if module == name or module.startswith(f"{name}.")}


def deployed() -> set[str]:
    """The names of all handlers in the lists of infra."""
    listed = [each for lists in (handlers, group_handlers, job_handlers) for each in vars(lists).values()]
    flat = [one for each in listed for one in (each if isinstance(each, tuple) else [each])]
    kinds = (group_handlers.GroupHandler, job_handlers.JobHandler)
    lambdas = [each.lambda_ if isinstance(each, kinds) else each for each in flat]
    return {each.name for each in lambdas if isinstance(each, handlers.Handler)}


def test_each_handler_that_is_deployed_is_tested_here_and_no_other() -> None:
    assert deployed() == set(HANDLERS)


@pytest.mark.parametrize("name", CONSUMERS)
def test_no_consumer_imports_the_http_edge_or_what_it_is_created_of(name: str) -> None:
    loaded = modules(name)

    assert not loaded & {"pydantic", "aws_lambda_powertools", EDGE, *NOWHERE, *LISTS}
    assert len(loaded) <= CONSUMER_MODULES_MAX


@pytest.mark.parametrize("name", SERVED)
def test_no_route_imports_boto3_or_the_models_of_a_description(name: str) -> None:
    loaded = modules(name)

    assert not loaded & (NOWHERE - {"asyncio"})
    assert len(loaded) <= ROUTE_MODULES_MAX


def test_a_request_does_not_import_the_models_of_a_description_either() -> None:
    program = f"from functions.get_batch import handler\nanswer = handler({REQUEST!r}, None)"

    loaded = set(started(program + "\nassert answer['statusCode'] == 403")[0]["modules"])

    assert not loaded & (NOWHERE - {"asyncio"})


@pytest.mark.parametrize("name", WITHOUT_TRACKER)
def test_what_acks_nothing_or_only_some_items_starts_without_the_tracker(name: str) -> None:
    assert not of_package("fanin.tracker", modules(name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_clients_that_each_request_uses_are_made_at_the_start(name: str) -> None:
    assert set(starts()[name]["made"]) == CLIENTS.get(name, {"dynamodb"})


def test_elsewhere_a_handler_is_imported_without_an_environment_and_makes_no_client() -> None:
    program = "\n".join(f"import functions.{name}" for name in HANDLERS)

    assert started(program, on_lambda=False)[0]["made"] == []


def test_the_first_collection_of_garbage_comes_after_the_start_and_the_others_as_usual() -> None:
    program = """
import gc
usual = gc.get_threshold()
import functions.ack_items
assert gc.get_threshold()[0] == functions.wiring.starting.START_OBJECTS
assert 0 < gc.get_count()[0] < functions.wiring.starting.START_OBJECTS, gc.get_count()
kept = [[] for _ in range(functions.wiring.starting.START_OBJECTS)]
assert gc.get_threshold() == usual
assert gc.get_freeze_count() > 0
assert not gc.callbacks
"""
    assert "functions.ack_items" in started(program)[0]["modules"]
