"""Tasks, bundles and jobs as production code leads them, read from their streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace

import pytest

from fanin.grouper import (
    Answer,
    BundleMessage,
    Grouper,
    NewTask,
    Outcome,
    Policies,
    Policy,
    TaskMessage,
    Verdict,
    World,
)
from fanin.grouper.dynamodb import DynamoStore as TaskStore
from fanin.queue.dynamodb import DynamoStore as JobStore
from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import PartKey, QueueKey, job_key
from fanin.queue.rules.model import Dead, GivenBack, NewJob, Rerun
from pipeline.history_tables.change_frames import schemas
from pipeline.history_tables.change_frames.archive import Archive, Days
from pipeline.history_tables.change_frames.reading import changes
from pipeline.history_tables.grouping import bundles, jobs, queues, sizes, targets, tasks
from tests.contract.grouper_tables import TABLES
from tests.contract.queue_table import QUEUE_TABLE
from tests.pipeline.history_tables.histories import START, TENANT, recorded

QUEUE = QueueKey(TENANT, "thumbs")
PART = PartKey(QUEUE, 0)
SECOND = 1_000_000


def read(spark, folder, kind):
    return changes(spark, Archive(str(folder / "changes")), kind, Days())


@dataclass
class Outbox:
    """A queue that only the test reads."""

    postings: list = field(default_factory=list)

    def send(self, postings):
        self.postings += postings

    def take(self, kind):
        found = [each.message for each in self.postings if isinstance(each.message, kind)]
        self.postings = [each for each in self.postings if not isinstance(each.message, kind)]
        return found


@dataclass
class RefusingApi:
    """A batch API that refuses some tasks; endings have no listener."""

    refused: tuple[str, ...]

    def call(self, call):
        refused = [each.task_id for each in call.members if each.task_id in self.refused]
        return Answer(members={each: Outcome(Verdict.FAIL, "no") for each in refused})

    def notify(self, tasks):
        """Nothing."""


def lead(grouper, outbox):
    """Give every message of a task to a leader, and those that this makes."""
    for _ in range(3):
        for message in outbox.take(TaskMessage):
            grouper.lead(message)


def grouper_of(recorder, outbox):
    store = TaskStore(recorder.client, TABLES, pause=lambda _: None)
    policies = Policies(default=Policy(max_size=3, rate=100.0, burst=10))
    clock = {"now": lambda: recorder.at, "jitter": lambda: 0.5, "pause": lambda _: None}
    return Grouper(World(store, outbox, policies, **clock))


@pytest.fixture(scope="module")
def bundled(spark, tmp_path_factory):
    """Five tasks for one target, bundled two seconds later; one is refused. One more still waits."""
    folder = tmp_path_factory.mktemp("bundled")
    with recorded(folder, "GroupTasks", "GroupBundles") as recorder:
        outbox, api = Outbox(), RefusingApi(("task-1",))
        grouper = grouper_of(recorder, outbox)
        for number in range(5):
            grouper.register(TENANT, NewTask([number], "orders", f"task-{number}"))
        recorder.wait(2)
        lead(grouper, outbox)
        recorder.wait(3)
        for message in outbox.take(BundleMessage):
            grouper.handle(message, api, api)
        recorder.wait(10)
        grouper.register(TENANT, NewTask([9], "mails", "late"))
    of_bundles = bundles(read(spark, folder, "bundles")).cache()
    of_tasks = tasks(read(spark, folder, "tasks"), of_bundles).cache()
    return SimpleNamespace(
        bundles=sorted(of_bundles.collect(), key=lambda row: row["size"]),
        tasks={row.task_id: row for row in of_tasks.collect()},
        targets={row.target: row for row in targets(of_tasks, of_bundles).collect()},
        sizes={row["size"]: row.bundles for row in sizes(of_bundles).collect()},
    )


def test_bundles_have_the_sizes_that_they_were_sealed_with(bundled):
    rows = bundled.bundles

    assert [(row["size"], row.state, row.calls) for row in rows] == [(2, "DONE", 1), (3, "DONE", 1)]
    assert bundled.sizes == {2: 1, 3: 1}
    assert {row.lasted for row in rows} == {3.0}


def test_a_task_waits_from_its_registration_to_its_first_bundle(bundled):
    rows = bundled.tasks

    assert {name: row.waited for name, row in rows.items()} == {
        **{f"task-{number}": 2.0 for number in range(5)},
        "late": None,
    }
    assert (rows["task-0"].state, rows["task-0"].lasted) == ("SUCCEEDED", 5.0)
    assert (rows["task-1"].state, rows["task-1"].detail) == ("FAILED", "no")
    assert (rows["late"].state, rows["late"].ended_at) == ("CREATED", None)


def test_a_target_sums_its_tasks_and_bundles_up(bundled):
    orders, mails = bundled.targets["orders"], bundled.targets["mails"]

    assert (orders.tasks, orders.states) == (5, {"SUCCEEDED": 4, "FAILED": 1})
    assert (orders.bundles, orders["size"], orders.largest, orders.calls) == (2, 2.5, 3, 2)
    assert orders.waited == [2.0, 2.0, 2.0]
    assert (mails.tasks, mails.bundles, mails.waited) == (1, None, None)


class Line:
    """A work queue of one part on the recorder's clock."""

    def __init__(self, recorder) -> None:
        self.recorder = recorder
        self.store = JobStore(recorder.client, QUEUE_TABLE)

    @property
    def now(self) -> int:
        return int(self.recorder.at.timestamp()) * SECOND

    def key(self, name):
        return job_key(QUEUE, 1, name)

    def add(self, name):
        spec = NewJob(name, payload="secret")
        self.store.add(lifecycle.new_job(spec, self.key(name), f"id-{name}", self.now, None), None)

    def take(self, name):
        (entry,) = (each for each in self.store.ready(PART, 100) if each.job_id == f"id-{name}")
        return self.store.claim(entry, "session", f"claim of {name} at {self.now}", self.now)

    def give_back(self, name):
        (entry,) = (each for each in self.store.claims_of(PART, "session") if each.job_id == f"id-{name}")
        self.store.give_back(entry, GivenBack(self.now, failed=True))


@pytest.fixture(scope="module")
def worked(spark, tmp_path_factory):
    """Jobs of every outcome: done, done at the second try, run once more while busy, dead, and waiting."""
    folder = tmp_path_factory.mktemp("worked")
    with recorded(folder, "Queue") as recorder:
        line = Line(recorder)
        for name in ("plain", "again", "twice", "hopeless", "waiting"):
            line.add(name)
        recorder.wait(4)
        taken = {name: line.take(name) for name in ("plain", "again", "twice", "hopeless")}
        recorder.wait(3)
        line.store.end(taken["plain"], line.now)
        line.give_back("again")
        line.store.rerun(taken["twice"], Rerun("id-rerun", line.now, 0))
        recorder.wait(2)
        line.store.end(line.store.get(line.key("twice")), line.now)
        line.store.end(taken["hopeless"], line.now, dead=Dead(taken["hopeless"], "boom", line.now))
        second = line.take("again")
        recorder.wait(5)
        line.store.end(second, line.now)
        recorder.wait(1)
        line.store.collide(line.store.get(line.key("waiting")))
    found = jobs(read(spark, folder, "jobs")).cache()
    rows = {row.job_id: row for row in found.collect()}
    return SimpleNamespace(jobs=rows, queues=queues(found).collect())


@pytest.mark.parametrize(
    ("job_id", "state", "waited", "busy", "deliveries", "seconds"),
    [
        ("id-plain", "done", 4.0, 3.0, 1, 7),
        ("id-again", "done", 6.0, 8.0, 2, 14),
        ("id-twice", "done", 4.0, 5.0, 1, 9),
        ("id-rerun", "queued", 0.0, 0.0, 0, None),
        ("id-hopeless", "dead", 4.0, 5.0, 1, 9),
        ("id-waiting", "queued", 0.0, 0.0, 0, None),
    ],
)
def test_a_job_is_reported_as_it_ended_with_its_waits_and_its_work(
    worked, job_id, state, waited, busy, deliveries, seconds
):
    """*seconds*: from the first job's add to this one's end."""
    row = worked.jobs[job_id]
    ended = None if seconds is None else (START + timedelta(seconds=seconds)).timestamp()

    assert (row.state, row.waited, row.worked, row.deliveries) == (state, waited, busy, deliveries)
    assert (row.ended_at and row.ended_at.timestamp()) == ended


def test_two_jobs_of_one_id_are_two_rows(spark):
    facts = dict.fromkeys(schemas.JOB_IMAGES.names) | {"tenant": "t", "queue": "q", "job_id": "mine"}
    images = [facts | {"name": name, "place": "1", "state": "done"} for name in ("a", "b")]

    found = jobs(spark.createDataFrame(images, schemas.JOB_IMAGES)).collect()

    assert sorted((row.job_id, row.name, row.state) for row in found) == [
        ("mine", "a", "done"),
        ("mine", "b", "done"),
    ]


def test_a_queue_sums_its_jobs_up(worked):
    (row,) = worked.queues

    assert (row.tenant, row.queue, row.jobs) == (TENANT, "thumbs", 6)
    assert row.states == {"done": 3, "dead": 1, "queued": 2}
    assert (row.again, row.refused) == (1, 1)
    assert (row.waited[-1], row.worked[-1]) == (6.0, 8.0)
