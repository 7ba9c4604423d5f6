"""``fanin tasks``, ``bundles``, ``queues``, ``jobs``, ``cost``: rows in a pipe, and the API's documents."""

from __future__ import annotations

import json

import pytest

from fanin.cli.terminal.exits import ExitCode
from fanin.cost.dollars import price
from fanin.cost.estimate import estimate
from fanin.queue import NewJob
from tests.api.conftest import grouper
from tests.api.published import checked
from tests.api.test_queue_admin_routes import new_queue, store

__all__ = ["grouper", "store"]

JSON = {"content-type": "application/json"}


@pytest.fixture
def tasks(grouper, gateway):
    """Three tasks of the target ``mail``."""
    for n in range(3):
        body = {"target": "mail", "taskId": f"t{n}", "payload": n}
        assert gateway.send("POST", "/v1/tasks", body).status == 202


@pytest.fixture
def jobs(store):
    """A queue of three jobs, one of which is delayed, and an empty queue."""
    queue = new_queue(store)
    queue.add_all([NewJob("a"), NewJob("b", priority=7), NewJob("c", delay=3600)])
    new_queue(store, "empty").add("x")


def listed(fanin, path, name, *arguments):
    """The rows of a verb in a pipe, and its documents, which are those of the API."""
    rows = [line.split("\t") for line in fanin(*arguments).ok().lines]
    documents = fanin(*arguments, "--json").ok().documents
    checked("GET", path, 200, JSON, json.dumps({name: documents}))
    assert len(rows) == len(documents)
    return rows, documents


def test_tasks_and_bundles_of_a_target(fanin, tasks):
    rows, documents = listed(fanin, "/v1/tasks", "tasks", "tasks", "mail")
    assert sorted(row[:2] for row in rows) == [[f"t{n}", "CREATED"] for n in range(3)]
    assert {document["taskId"] for document in documents} == {"t0", "t1", "t2"}
    assert all(row[2].startswith("20") for row in rows)
    assert listed(fanin, "/v1/tasks", "tasks", "tasks", "mail", "--state", "DEAD") == ([], [])
    assert listed(fanin, "/v1/bundles", "bundles", "bundles", "mail") == ([], [])


def test_a_list_has_as_many_rows_as_asked_for(fanin, tasks):
    assert len(fanin("tasks", "mail", "--limit", "2").ok().lines) == 2
    assert len(fanin("tasks", "mail", "--limit", "2", "--all").ok().lines) == 3


def test_queues_and_their_jobs(fanin, jobs):
    rows, _ = listed(fanin, "/v1/queues", "queues", "queues")
    assert [row[:5] for row in rows] == [["empty", "1", "0", "0", "0"], ["thumbs", "2", "0", "1", "0"]]
    rows, _ = listed(fanin, "/v1/queues/thumbs/jobs", "jobs", "jobs", "thumbs")
    assert sorted(row[:3] for row in rows) == [["a", "queued", "0"], ["b", "queued", "7"]]
    rows, _ = listed(fanin, "/v1/queues/thumbs/jobs", "jobs", "jobs", "thumbs", "--state", "delayed")
    assert [row[0] for row in rows] == ["c"]
    assert rows[0][4].startswith("20")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("jobs", "no/such\tname"), ExitCode.REFUSED),
        (("tasks", "nosuch"), ExitCode.REFUSED),
        (("bundles", "nosuch"), ExitCode.REFUSED),
        (("jobs", "thumbs", "--state", "all"), ExitCode.USAGE),
        (("jobs",), ExitCode.USAGE),
        (("tasks",), ExitCode.USAGE),
        (("tasks", "mail", "--state", "x"), ExitCode.USAGE),
        (("queues", "--limit", "0"), ExitCode.USAGE),
        (("list", "--label", "tenant"), ExitCode.USAGE),
        (("cost",), ExitCode.USAGE),
        (("cost", "--items", "0"), ExitCode.USAGE),
    ],
)
def test_what_is_wrong_is_1_or_2(fanin, jobs, tasks, arguments, code):
    assert fanin(*arguments).code == code


def test_tasks_and_jobs_of_what_does_not_exist_end_alike(fanin, jobs, tasks):
    assert fanin("jobs", "nosuch").err == "queue 'nosuch' does not exist\n"
    assert fanin("tasks", "nosuch").err == "target 'nosuch' does not exist, or never had tasks\n"


@pytest.mark.parametrize(
    ("items", "chunk", "size"), [(1000, 1, 0), (10**9, 1, 239), (10**9, 64, 239), (10**6, 1024, 0)]
)
def test_the_cost_is_the_estimate_of_the_pipeline(fanin, items, chunk, size):
    options = ["cost", "--items", str(items), "--chunk", str(chunk), "--bytes", str(size)]
    (found,) = fanin(*options, "--json").ok().documents
    facts = estimate(items, items * size, chunk).facts()
    lines = dict(line.split("\t") for line in fanin(*options).ok().lines)

    assert (found["leastDollars"], found["mostDollars"]) == (facts["leastDollars"], facts["mostDollars"])
    assert price(found["leastDollars"], found["mostDollars"]) == facts["price"]
    assert (found["messages"], found["requests"]) == (facts["messages"], facts["requests"])
    assert lines == {name: str(value) for name, value in found.items()}
