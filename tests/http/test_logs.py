"""The logs of the handlers, where docs/local.md says that they are."""

from __future__ import annotations

import json
import time

from fanin.local import LocalRun

PATIENCE_SECONDS = 30


def test_what_a_handler_logs_is_in_the_log_group_of_its_function(run: LocalRun, api) -> None:
    api.opened(1)
    functions = run.client("lambda").list_functions()["Functions"]
    (group,) = [
        each["LoggingConfig"]["LogGroup"]
        for each in functions
        if each["Handler"] == "functions.api.write_batches.handler"
    ]
    give_up, lines = time.monotonic() + PATIENCE_SECONDS, []
    while not any("BatchesOpened" in line for line in lines) and time.monotonic() < give_up:
        pages = run.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
        lines = [event["message"] for page in pages for event in page["events"]]

    assert any(line.startswith("START RequestId") for line in lines)
    opened = [json.loads(line) for line in lines if "BatchesOpened" in line]
    assert "POST /v1/batches" in {each["route"] for each in opened}
