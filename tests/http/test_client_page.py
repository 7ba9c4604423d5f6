"""Runs the examples of docs/client.md in order, unchanged, against the local run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fanin import State, Verdict
from tests.http.events import Events

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
EXAMPLES = re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)
ORDERED = (
    *("client", "direct", "publish", "again", "ended", "unfinished"),
    *("ack", "look", "heal", "wait", "coroutines"),
    *("options", "end", "estimated"),
)


@pytest.fixture(scope="module")
def names(run):
    """What the examples define, with the lines that each of them printed."""
    names = {"work_on": lambda body: json.loads(body)["work"], "printed": {}}
    with pytest.MonkeyPatch.context() as environment:
        for name, value in run.environment.items():
            environment.setenv(name, value)
        for title, code in EXAMPLES:
            lines = names["printed"][title] = []
            names["print"] = lambda *values, lines=lines: lines.append(" ".join(map(str, values)))
            exec(code.replace("http://127.0.0.1:8787", run.url), names)  # noqa: S102
        yield names


def test_every_python_block_of_the_page_is_run(names):
    assert tuple(title for title, _ in EXAMPLES) == (*ORDERED, "consume")
    assert PAGE.count("```python") == len(EXAMPLES)


def test_what_the_page_says_is_printed_is_printed(names):
    printed = names["printed"]

    assert printed["again"] == ["True"]
    assert names["reopened"].status().origin_batch_id == names["first"]
    assert printed["ended"] == ["CANCELLED cancelled the catalog is withdrawn"]
    assert names["second"] != names["first"]
    assert printed["ack"][1:] == ["CLOSED 4 1 10"]
    assert printed["look"] == ["6 True no picture"]
    assert printed["heal"][1:] == ["succeeded"]
    assert printed["wait"] == ["succeeded", "COMPLETE 10 10"]
    assert printed["coroutines"] == ["COMPLETE", "succeeded"]
    assert printed["end"] == [f"{names['mailing'].id} cancelled not this week"]


def test_reports_have_the_verdicts_and_completions_of_the_page(names):
    assert [one.verdict for one in names["report"].results] == [Verdict.ACCEPTED] * 3
    assert names["last"].ranges[0].counts == {Verdict.ACCEPTED: 6}
    assert [completion.user_key for completion in names["last"].completions] == ["catalog-7"]


def test_the_client_on_the_tables_sees_what_the_client_over_http_did(names):
    assert names["direct"].status(names["batch"].id) == names["batch"].status()
    assert names["from_environment"].status(names["batch"].id) == names["batch"].status()
    assert names["views"].status().state is State.COMPLETE


def test_the_event_of_the_page_comes_and_comes_again_under_its_id(names, bus: Events):
    events = bus.of(names["mailing"].id, 2)

    assert {event["eventId"] for event in events} == {names["event_id"]}
    assert len(events) == 2


def test_the_handlers_of_the_page_ack_send_back_and_fail(names):
    with names["fanin"].open() as batch:
        items = batch.add(3)
    bodies = [
        json.dumps({"order": item} | work) for item, work in zip(items, ({"work": 1}, {}, {}), strict=True)
    ]
    receives = ("1", "3", "1")
    records = [
        {"messageId": f"m{n}", "body": body, "attributes": {"ApproximateReceiveCount": times}}
        for n, (body, times) in enumerate(zip(bodies, receives, strict=True))
    ]

    assert names["handler"]({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "m2"}]}
    assert [sample.reason for sample in batch.samples()] == ["KeyError: 'work'"]
    assert names["failing_handler"]({"Records": records[2:]}, None) == {"batchItemFailures": []}
    assert (batch.status().result, batch.status().failed) == ("completed_with_failures", 2)
