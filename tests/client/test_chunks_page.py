"""Runs the examples of docs/chunks.md as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from fanin import State

PAGE = (Path(__file__).parents[2] / "docs" / "chunks.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))


def run(name, **names):
    exec(EXAMPLES[name], names)  # noqa: S102
    return names


def delivered(*bodies):
    return {"Records": [{"messageId": f"m{n}", "body": body} for n, body in enumerate(bodies)]}


def test_every_example_is_run():
    assert list(EXAMPLES) == ["producer", "consumer", "pointer"]
    assert PAGE.count("```python") == len(EXAMPLES)


def test_the_producer_and_the_consumer_of_the_page_work_together(fanin):
    sent, worked, rows = [], [], [{"n": n} for n in range(200)]
    produced = run("producer", fanin=fanin, rows=rows, send=sent.append)
    handler = run("consumer", fanin=fanin, work_on=worked.append)["handler"]

    assert len(sent) == 4
    assert handler(delivered(*sent), None) == {"batchItemFailures": []}
    assert worked == rows
    assert produced["batch"].status().state is State.COMPLETE


def test_a_pointer_is_in_the_message_of_each_item(fanin):
    sent, batch = [], fanin.open()
    run("pointer", items=batch.add(3), send=sent.append)
    seen = []
    handler = fanin.acks_each(
        lambda item: seen.append((item.row, "s3://catalog/0.jsonl" in item.record["body"]))
    )

    assert handler(delivered(*sent), None) == {"batchItemFailures": []}
    assert seen == [(None, True)] * 3
