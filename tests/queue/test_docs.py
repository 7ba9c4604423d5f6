"""The page's examples, run as they stand there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fanin.queue import (
    Dead,
    Effects,
    JobState,
    MemoryDoorbell,
    NewJob,
    Options,
    Queue,
    QueueContext,
    QueueKey,
    Ring,
)
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.messages import body
from fanin.queue.rules.model import GivenBack, Rerun
from tests.queue.conftest import shown

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "queue.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- ([\w ]+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
KEY = QueueKey("t", "thumbnails")
OUTCOME = {"Put": {"TableName": "Outcomes", "Item": {"pk": {"S": "x"}}}}


@pytest.fixture
def queue():
    effects = Effects(pause=lambda _: None)
    with Queue(QueueContext(MemoryStore(), MemoryDoorbell(), KEY, Options(parts=1), effects)) as queue:
        yield queue


def example(name: str, queue: Queue, **names):
    """What an example defines, where *queue* is the queue of the client."""
    names |= {"url": "http://127.0.0.1:1"}
    names |= {"_client": lambda _: SimpleNamespace(queue=lambda _: shown(queue))}
    exec(EXAMPLES[name].replace("Fanin(url)", "_client(url)"), names)  # noqa: S102
    return names


def test_the_worker_of_the_page_acks_what_it_took(queue):
    drawn = []

    def draw(name, payload):
        drawn.append((name, payload))
        return OUTCOME

    names = example("worker", queue, draw=draw)

    assert names["rejected"] == ()
    assert drawn == [("img-18", None), ("img-19", None)]
    assert len(queue.context.store.written) == 2
    assert [job.name for job in queue.delayed()] == ["img-20"]


def test_the_lambda_of_the_page_takes_from_the_parts_that_rang(queue):
    queue.add_all(["a", "b"])
    drawn = []
    names = example("lambda", queue, draw=lambda name, _: drawn.append(name) or OUTCOME)
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 30_000)
    names["handler"](
        {"Records": [{"messageId": "r", "body": body(KEY, Ring(0)), "receiptHandle": "r"}] * 2}, context
    )

    assert drawn == ["a", "b"]
    assert len(queue.context.store.written) == 2
    assert queue.depth().ready == queue.depth().busy == 0


def test_the_diagram_of_a_job_has_the_transitions_of_the_lifecycle():
    (drawn, *_) = re.findall(
        r"stateDiagram-v2\n(.*?)```", (DOCS / "queue_reference.md").read_text(), re.DOTALL
    )
    key = job_key(KEY, 1, "a")
    added = [lifecycle.new_job(NewJob("a", delay=delay), key, "id", 1, None) for delay in (0, 1)]
    busy = lifecycle.claimed(added[0], "s", "c", 2)
    returned = [lifecycle.given_back(busy, GivenBack(3, due_us=due)) for due in (None, 9)]
    asked = replace(busy, rerun=Rerun("next", 3, 0))
    ended = [lifecycle.ended(job, 4) for job in (busy, asked)]
    again = [lifecycle.new_job(NewJob("a", delay=delay), key, "id", 5, ended[0]) for delay in (0, 1)]
    pairs = [("[*]", job.state) for job in added] + [(JobState.READY, busy.state)]
    pairs += [(JobState.BUSY, job.state) for job in returned + ended]
    pairs += [(JobState.DONE, job.state) for job in again]
    pairs += [(JobState.DELAYED, lifecycle.promoted(added[1], 3).state)]
    waiting = [lifecycle.deleted(job, 3, "d").state for job in added]
    pairs += [(job.state, after) for job, after in zip(added, waiting, strict=True)]
    pairs += [("dead", lifecycle.revived(Dead(busy, "", 4), 5, ended[0]).state)]
    kept_beside = {("inProgress", "dead"), ("done", "[*]")}  # a row of its own, and the deletion of the mark

    drawn_pairs = set(re.findall(r"^ +(\S+) --> (\w+|\[\*\]):", drawn, re.MULTILINE))

    assert drawn_pairs == {*((_shown(old), _shown(new)) for old, new in pairs), *kept_beside}


def _shown(state):
    return state.shown if isinstance(state, JobState) else state
