"""The steps of the smoke test: each does one thing on the stage and returns what it saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fanin.errors import FaninError, NotFound
from fanin.tracker.dynamodb.requests import BATCH_ROW
from tests.smoke.account import doorbell, host_name, rights
from tests.smoke.analytics import emr, glue
from tests.smoke.indexes import item_bytes
from tests.smoke.indexes import units as index_units
from tests.smoke.site import Failed, Stage
from tests.smoke.throttle import throttle

UNKNOWN = "00000000-0000-4000-8000-00000000dead"
READS = (
    f"/v1/batches/{UNKNOWN}",
    "/v1/batches?limit=1",
    f"/v1/batches/{UNKNOWN}/outstanding",
    f"/v1/batches/{UNKNOWN}/failures",
    f"/v1/batches/{UNKNOWN}/map",
    f"/v1/tasks/{UNKNOWN}",
    f"/v1/bundles/{UNKNOWN}",
    "/v1/targets?limit=1",
    "/v1/queues?limit=1",
    "/v1/queues/smoke-none",
)
CONSUMERS = ("consume_acks", "handle_bundle", "lead_tasks", "publish_endings")
LOOPING = {"lead_tasks", "handle_bundle", "consume_tasks"}
SWEEPERS = ("sweep", "sweep_groups", "sweep_jobs")
DIGITS, GUARDED = 20, 120
"""A guarded addition of 20 digits of a page is that of 120 neighbours: 6 items a digit."""
PAGE = 1024


@dataclass(frozen=True)
class Step:
    """A step by its name; *units* are what it costs at most, by the names of fanin.cost."""

    name: str
    run: Callable[[Stage], str]
    units: dict[str, float]


def reads(stage: Stage) -> str:
    """Every route that reads is answered, by a function whose role lets it."""
    for path in READS:
        try:
            stage.get(path)
        except NotFound:
            pass
        except FaninError as error:
            raise Failed(f"GET {path}: {error}") from error
    return f"{len(READS)} routes"


def functions(stage: Stage) -> str:
    """Every function of a schedule, a queue or a stream runs under its role, and may loop where it has to."""
    known = [name for name in CONSUMERS if name in stage.functions]
    sweepers = [name for name in SWEEPERS if name in stage.functions]
    for name in known:
        stage.invoke(name, {"Records": []})
    for name in sweepers:
        stage.invoke(name, {})
    for name in sorted(LOOPING & stage.functions.keys()):
        _check_loops(stage, name)
    return ", ".join([*known, *sweepers])


def _check_loops(stage: Stage, name: str) -> None:
    """Raise Failed if Lambda would stop a function whose own messages come back to it."""
    answer = stage.client("lambda").get_function_recursion_config(FunctionName=stage.functions[name])
    if answer["RecursiveLoop"] != "Allow":
        raise Failed(f"{name}: RecursiveLoop is {answer['RecursiveLoop']}")


def guarded_add(stage: Stage) -> str:
    """20 digits of a page are added in one write, twice: the second one finds them set."""
    with stage.fanin.open(stage.name) as batch:
        items = batch.add(GUARDED)
    first, again = (stage.fanin.ack_ranges([items]) for _ in range(2))
    status = batch.status()
    if not status.is_complete or len(first.completions) != 1:
        raise Failed(f"{status.state} after all acks, and {len(first.completions)} completions")
    stage.clean_later("the batch of 20 digits", partial(_delete, stage, batch.id))
    return f"{GUARDED} items done, one completion; again: {len(again.completions)} completions of its own"


def widest_update(stage: Stage) -> str:
    """All 171 digits of a page in both families and its count, 343 clauses, in one update."""
    with stage.fanin.open(stage.name) as batch:
        items = batch.add(PAGE)
        stage.fanin.fail_ranges([items], "smoke")
        found = sum(len(each) for each in batch.failures())
    if found != PAGE:
        raise Failed(f"{found} of {PAGE} items have failed")
    stage.clean_later("the batch of 343 clauses", partial(_delete, stage, batch.id))
    return f"{PAGE} items failed in one write"


def threshold(stage: Stage) -> str:
    """The first failure of a live batch is reported by the sweeper, within two minutes."""
    with stage.fanin.open(stage.name, notify_at=["firstFailure"]) as batch:
        stage.fanin.fail_ranges([batch.add(2)], "smoke")
        _await_threshold(stage, batch.id)
    stage.clean_later("the batch with a threshold", partial(_delete, stage, batch.id))
    return "firstFailure is reported"


def _await_threshold(stage: Stage, batch_id: str) -> None:
    """Wait until the batch's row has the mark, which is written with the notice of the event."""
    tenant = stage.client("sts").get_caller_identity()["Account"]
    key = {"pk": {"S": f"{tenant}#{batch_id}"}, "sk": {"S": BATCH_ROW}}
    table = stage.outputs["BatchesTable"]

    def marked() -> bool:
        row = stage.client("dynamodb").get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]
        return bool(row.get("reported", {}).get("SS"))

    stage.until("the threshold firstFailure", marked)


def ending(stage: Stage) -> str:
    """The stream has put the event on the bus: the rule of its type invoked confirm_event."""
    with stage.fanin.open(stage.name) as batch:
        batch.add(1)
    stage.fanin.cancel(batch.id, "smoke")
    found = stage.until(
        "the event BatchCancelled is confirmed",
        lambda: (event := stage.get(f"/v1/batches/{batch.id}")["event"])["confirmed"] and event,
    )
    stage.clean_later("the cancelled batch", partial(_delete, stage, batch.id))
    return f"{found['type']} confirmed"


def task(stage: Stage) -> str:
    """A task passes its lane's queue, its leader and, where its target has a handler, the handler."""
    if "lead_tasks" not in stage.functions:
        return "no group-batcher"
    registered = stage.fanin.task(stage.name, {"smoke": True}, task_id=stage.name)
    ended = stage.until("the task ends", lambda: _ended(stage, registered.task_id))
    return f"{ended}; its row expires"


def _ended(stage: Stage, task_id: str) -> str | None:
    status = stage.fanin.task_status(task_id)
    return f"{status.state} {status.reason or ''}".strip() if status.has_ended else None


def job(stage: Stage) -> str:
    """A job is added, taken by a worker and acked."""
    if "QueueTable" not in stage.outputs:
        return "no work queues"
    with stage.fanin.queue(stage.name) as queue:
        queue.ensure()
        stage.clean_later("the work queue", partial(queue.remove, force=True))
        queue.add("smoke")
        with queue.take(1, wait=20) as taken:
            names = [each.key for each in taken]
    if names != ["smoke"]:
        raise Failed(f"took {names}")
    return "one job taken and acked"


def _delete(stage: Stage, batch_id: str) -> None:
    """Delete the user data of an ended batch once its event is confirmed; its rows expire."""
    stage.until("its event is confirmed", lambda: stage.get(f"/v1/batches/{batch_id}")["event"]["confirmed"])
    stage.fanin.delete(batch_id)


CALL = {"api_request": 1.0, "invocation": 1.0, "gb_second": 0.5}


def _units(calls: int, **more: float) -> dict[str, float]:
    """Return *calls* of the API, each with half a GB-second, beside *more*."""
    return {name: each * calls for name, each in CALL.items()} | more


STEPS = (
    Step("routes that read", reads, _units(len(READS), read_unit=50)),
    Step("functions and their roles", functions, _units(12, read_unit=2_000)),
    Step("guarded add of 20 digits", guarded_add, _units(8, write_unit=60, event=2)),
    Step("update of 343 clauses", widest_update, _units(10, write_unit=100, read_unit=100, event=2)),
    Step("a threshold", threshold, _units(10, write_unit=60, read_unit=500, event=4)),
    Step("an ending event by the stream", ending, _units(100, write_unit=40, event=2)),
    Step("a task through the group-batcher", task, _units(100, write_unit=60, queue_request=1_000)),
    Step("a job of a work queue", job, _units(20, write_unit=100, read_unit=200, queue_request=50)),
    Step("key and tags of a doorbell", doorbell, _units(4, write_unit=10, read_unit=20, queue_request=20)),
    Step("host name of the API", host_name, _units(1, read_unit=1)),
    Step("rights of CloudFormation", rights, {}),
    Step("units of indexes in a transaction", index_units, {"write_unit": 40}),
    Step("bytes of an item with its local index", item_bytes, {"write_unit": 800, "read_unit": 100}),
    Step("throttle of the API", throttle, {"api_request": 1_200, "invocation": 1_200, "gb_second": 60}),
    Step("Glue starts", glue, {}),
    Step("EMR Serverless starts", emr, {}),
)
