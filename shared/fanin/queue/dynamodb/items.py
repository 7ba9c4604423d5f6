"""The values of the queue as DynamoDB items, in both directions."""

from __future__ import annotations

from typing import Any

from fanin.aws.dynamodb.rows import Item, number, text
from fanin.aws.dynamodb.schema import Schema
from fanin.queue.rules import order
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import JobKey, PartKey, QueueKey, visit_minute
from fanin.queue.rules.model import (
    MARK_SECONDS,
    SECOND_US,
    Dead,
    EarlierJob,
    Entry,
    Job,
    JobState,
    Member,
    OutboxEntry,
    Rerun,
)

SCHEMA = Schema(newest=1)
"""Each row has its own version, because a process uses the config row that it has read for a minute. Every
write compares the version of the row that it changes.
"""
SESSION_SECONDS = 86_400
TRACE_SECONDS = 86_400
"""How long the config row of a removed queue is kept: longer than a copy of a request can be delayed."""
LISTED = "queues"
"""The partition, in the index of queues, of the config rows that every sweep visits."""
_SWITCHES = ("metrics", "paused")
_PHASES = ("idle_us", "asleep_us", "removing_us", "removed_us")

_TEXTS = {
    "name": "name",
    "id": "job_id",
    "payload": "payload",
    "item_id": "item_id",
    "session": "session",
    "claim": "claim",
    "done_by": "done_by",
    "revival": "revival",
}
RERUN = ("rerun_id", "rerun_us", "rerun_priority", "rerun_payload", "rerun_item")
"""The attributes of a requested rerun."""
_NUMBERS = (
    "priority",
    "added_us",
    "ready_us",
    "generation",
    "deliveries",
    "failures",
    "collisions",
    "queued_us",
    "busy_us",
    "claimed_us",
    "done_us",
)


def part_pk(part: PartKey) -> Item:
    return text(f"J#{part}")


def job_row(key: JobKey) -> Item:
    return {"pk": part_pk(key.part), "sk": text(key.sort)}


def session_pk(queue: QueueKey) -> Item:
    return text(f"S#{queue}")


def session_row(queue: QueueKey, session: str) -> Item:
    return {"pk": session_pk(queue), "sk": text(session)}


def dead_pk(part: PartKey) -> Item:
    """Return the partition of the dead jobs of a part."""
    return text(f"D#{_beside(part)}")


def dead_row(dead: Dead) -> Item:
    return {"pk": dead_pk(dead.job.key.part), "sk": text(dead.record)}


def config_row(queue: QueueKey) -> Item:
    return {"pk": text(f"C#{queue}"), "sk": text("config")}


CONFIG_OPTIONAL = (*_PHASES, "doorbell", "listed", "tenant", "ttl", "before", "phase", "since_us", "drained")
"""The attributes of a config row that can be absent."""


def config_item(queue: QueueKey, config: QueueConfig) -> Item:
    """Return the config row of a queue, which the indexes of queues list until the queue is removed."""
    item = config_row(queue) | _phase(queue, config)
    item |= {"parts": number(config.parts), "revision": number(config.revision)}
    item |= {name: {"BOOL": getattr(config, name)} for name in _SWITCHES}
    item |= {} if config.doorbell is None else {"doorbell": text(config.doorbell)}
    return item | _raise_facts(config)


def _raise_facts(config: QueueConfig) -> Item:
    """Return the attributes of a raise of the parts that is in progress."""
    if config.before is None:
        return {}
    facts: Item = {"before": number(config.before), "phase": text(config.phase)}
    facts |= {} if config.since_us is None else {"since_us": number(config.since_us)}
    return facts | ({"drained": text(config.cursor)} if config.cursor else {})


def config_of(item: Item) -> QueueConfig:
    """Return the config of a row."""
    item = SCHEMA.checked("queue", item)
    times: Any = {name: int(item[name]["N"]) for name in _PHASES if name in item}
    switches: Any = {name: item[name]["BOOL"] for name in _SWITCHES}
    return QueueConfig(
        parts=int(item["parts"]["N"]),
        revision=int(item["revision"]["N"]),
        doorbell=_text(item, "doorbell"),
        before=_number(item, "before"),
        phase=Phase(_text(item, "phase") or Phase.STEADY),
        since_us=_number(item, "since_us"),
        cursor=_text(item, "drained") or "",
        **switches,
        **times,
    )


def _phase(queue: QueueKey, config: QueueConfig) -> Item:
    """Return the attributes of the phase of a queue: its times, its partition of the index, its TTL."""
    times = {name: getattr(config, name) for name in _PHASES}
    item = {name: number(at) for name, at in times.items() if at is not None}
    if config.removed_us is not None:
        return item | {"ttl": number(config.removed_us // SECOND_US + TRACE_SECONDS)}
    listed = LISTED if config.asleep_us is None else asleep_in(visit_minute(queue))
    return item | {"listed": text(listed), "tenant": text(queue.tenant)}


def asleep_in(minute: int) -> str:
    """Return the partition, in the index of queues, of the sleeping queues that are visited in *minute*."""
    return f"asleep#{minute:04d}"


def counts_of(item: Item | None) -> tuple[int, int]:
    """Return the revision of a config row and its count of changes of the sessions."""
    if item is None:
        return -1, 0
    item = SCHEMA.checked("queue", item)
    return int(item["revision"]["N"]), int(item.get("changes", number(0))["N"])


def queue_of(item: Item) -> QueueKey:
    """Return the queue of a config row; the name of a tenant may contain #, that of a queue does not."""
    tenant, _, name = item["pk"]["S"].removeprefix("C#").rpartition("#")
    return QueueKey(tenant, name)


def job_item(job: Job) -> Item:
    """Return the row of a job; None is an absent attribute."""
    item = job_row(job.key) | _facts(job) | {"st": text(job.state), "ro": text(job.position)}
    return item if job.ix is None else item | {"ix": text(job.ix)}


def _facts(job: Job) -> Item:
    texts = {row: getattr(job, name) for name, row in _TEXTS.items()}
    item = {row: text(value) for row, value in texts.items() if value is not None}
    numbers = {name: getattr(job, name) for name in _NUMBERS}
    item |= {name: number(value) for name, value in numbers.items() if value is not None}
    return item | rerun_facts(job.rerun) | before_fact(job)


def before_fact(job: Job) -> Item:
    """Return the attribute of the earlier jobs of the key, which a row needs only where there are any."""
    earlier = " ".join(f"{each.digest}@{each.ended_us}" for each in job.before)
    return {"before": text(earlier)} if earlier else {}


def _before_of(item: Item) -> tuple[EarlierJob, ...]:
    pairs = (each.split("@") for each in (_text(item, "before") or "").split())
    return tuple(EarlierJob(digest, int(ended_us)) for digest, ended_us in pairs)


def rerun_facts(rerun: Rerun | None) -> Item:
    """Return the attributes of a requested rerun."""
    if rerun is None:
        return {}
    facts: Item = {"rerun_id": text(rerun.id), "rerun_us": number(rerun.added_us)}
    facts["rerun_priority"] = number(rerun.priority)
    texts = {"rerun_payload": rerun.payload, "rerun_item": rerun.item_id}
    return facts | {name: text(value) for name, value in texts.items() if value is not None}


def job_of(item: Item, part: PartKey) -> Job:
    """Return the job of a row."""
    return _job(item, JobKey(part, item["sk"]["S"]))


def _job(item: Item, key: JobKey) -> Job:
    item = SCHEMA.checked("job", item)
    texts = {name: _text(item, row) for name, row in _TEXTS.items()}
    numbers = {name: int(item[name]["N"]) for name in _NUMBERS if name in item}
    facts: Any = texts | numbers
    return Job(
        key=key, state=JobState(item["st"]["S"]), rerun=_rerun_of(item), before=_before_of(item), **facts
    )


def _rerun_of(item: Item) -> Rerun | None:
    if "rerun_id" not in item:
        return None
    return Rerun(
        id=item["rerun_id"]["S"],
        added_us=int(item["rerun_us"]["N"]),
        priority=int(item["rerun_priority"]["N"]),
        payload=_text(item, "rerun_payload"),
        item_id=_text(item, "rerun_item"),
    )


def entry_of(item: Item, part: PartKey) -> Entry:
    """Return the entry of a row of the index."""
    return Entry(
        key=JobKey(part, item["sk"]["S"]),
        job_id=item["job_id"]["S"],
        ix=item["ix"]["S"],
        state=JobState(item["st"]["S"]),
        deliveries=int(item["deliveries"]["N"]),
        ready_us=int(item["ready_us"]["N"]),
        session=_text(item, "session"),
        claim=_text(item, "claim"),
        claimed_us=int(item["claimed_us"]["N"]) if "claimed_us" in item else None,
    )


def dead_item(dead: Dead) -> Item:
    """Return the row of a dead job, which is listed by the time at which it died."""
    row = job_item(dead.job) | dead_row(dead)
    row |= {"ix": text(order.dead(dead.died_us)), "error": text(dead.error), "died_us": number(dead.died_us)}
    return row | {"job_sk": text(dead.job.key.sort)}


def dead_of(item: Item, part: PartKey) -> Dead:
    """Return the dead job of a row."""
    job = _job(item, JobKey(part, item["job_sk"]["S"]))
    return Dead(job, item["error"]["S"], int(item["died_us"]["N"]))


def outbox_pk(part: PartKey) -> Item:
    """Return the partition of the outbox entries of a part."""
    return text(f"T#{_beside(part)}")


def outbox_row(queue: QueueKey, entry: OutboxEntry) -> Item:
    return {"pk": outbox_pk(PartKey(queue, entry.part)), "sk": text(entry.ending)}


def outbox_item(queue: QueueKey, entry: OutboxEntry) -> Item:
    row = outbox_row(queue, entry) | {"job_id": text(entry.job_id), "item_id": text(entry.item_id)}
    texts = {"reason": entry.reason, "result": entry.result}
    given = {name: text(value) for name, value in texts.items() if value is not None}
    return row | {"failed": {"BOOL": entry.failed}} | given


def outbox_entry_of(item: Item, part: PartKey) -> OutboxEntry:
    """Return the entry of a row."""
    item = SCHEMA.checked("outbox entry", item)
    return OutboxEntry(
        job_id=item["job_id"]["S"],
        item_id=item["item_id"]["S"],
        failed=item["failed"]["BOOL"],
        reason=_text(item, "reason"),
        ending=item["sk"]["S"],
        part=part.number,
        result=_text(item, "result"),
    )


def member_item(queue: QueueKey, member: Member) -> Item:
    return session_row(queue, member.id) | {
        "st": text("live" if member.live else "dead"),
        "beats": {"BOOL": member.beats},
        "hb": number(member.heartbeats),
        "expires_us": number(member.expires_us),
        "expiry_us": number(member.expiry_us),
        "host": text(member.host),
        "pid": number(member.pid),
        "started_us": number(member.started_us),
        "ttl": number(session_ttl(member.expires_us)),
    }


def member_of(item: Item) -> Member:
    item = SCHEMA.checked("session", item)
    return Member(
        id=item["sk"]["S"],
        beats=item["beats"]["BOOL"],
        expires_us=int(item["expires_us"]["N"]),
        expiry_us=int(item["expiry_us"]["N"]),
        host=item["host"]["S"],
        pid=int(item["pid"]["N"]),
        started_us=int(item["started_us"]["N"]),
        live=item["st"]["S"] == "live",
        heartbeats=int(item["hb"]["N"]),
    )


def session_ttl(expires_us: int) -> int:
    return expires_us // SECOND_US + SESSION_SECONDS


def mark_ttl(at: int) -> int:
    return at // SECOND_US + MARK_SECONDS


def _number(item: Item, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def _text(item: Item, name: str) -> str | None:
    value: str | None = item.get(name, {}).get("S")
    return value


def _beside(part: PartKey) -> str:
    """Return the name of the partitions beside a part: those of its dead jobs and of its outbox entries."""
    return f"{part.queue}#+{part.number:04x}"


def part_beside(pk: str) -> PartKey:
    """Return the part of a partition key of dead jobs or outbox entries."""
    queue, _, number = pk[2:].rpartition("#+")
    tenant, _, name = queue.rpartition("#")
    return PartKey(QueueKey(tenant, name), int(number, 16))
