"""The README's examples, run as they stand there, against the local run."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()
PUBLISHER, CONSUMER = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
BATCH_WITHIN = re.compile(r"[0-9a-f-]{36}")


def test_the_readmes_publisher_and_consumer_work_together(run, api, monkeypatch):
    sent = []
    exec(PUBLISHER.replace("http://127.0.0.1:8080", run.url), {"send": sent.append})  # noqa: S102
    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BATCHES", run.outputs["BatchesTable"])
    monkeypatch.setenv("PAGES", run.outputs["PagesTable"])
    monkeypatch.setenv("TENANT", "000000000000")
    worked: list[str] = []
    names = {"work_on": worked.append}
    exec(CONSUMER, names)  # noqa: S102
    records = [{"messageId": item, "body": item, "attributes": {}} for item in sent[:20]]

    assert names["handler"]({"Records": records}, None) == {"batchItemFailures": []}
    assert worked == sent[:20]
    found = api.status(BATCH_WITHIN.match(sent[0])[0])
    assert (found["total"], found["progress"]["acked"], found["state"]) == (10_000, 20, "CLOSED")
