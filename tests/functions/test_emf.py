"""The lines that CloudWatch reads metrics from."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from functions.invocation_metrics import emf
from functions.invocation_metrics.emf import VALUES_MAX, Metrics


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_line_is_in_the_embedded_metric_format(capsys, monkeypatch):
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "fanin-dev")
    monkeypatch.setattr(emf.time, "time_ns", lambda: 1_700_000_000_123_456_789)
    metrics = Metrics("Space", tenant="t")

    metrics.add("Items", 2)
    metrics.add("Items", 3)
    metrics.add("Age", 1.5, emf.SECONDS)
    metrics.flush()

    described = {
        "Namespace": "Space",
        "Dimensions": [["tenant", "service"]],
        "Metrics": [{"Name": "Items", "Unit": "Count"}, {"Name": "Age", "Unit": "Seconds"}],
    }
    assert lines(capsys) == [
        {
            "_aws": {"Timestamp": 1_700_000_000_123, "CloudWatchMetrics": [described]},
            **{"tenant": "t", "service": "fanin-dev", "Items": [2.0, 3.0], "Age": [1.5]},
        }
    ]


def test_a_flush_of_nothing_writes_nothing_and_a_value_is_written_once(capsys):
    metrics = Metrics("Space")
    metrics.flush()
    metrics.add("Items", 1)
    metrics.flush()
    metrics.flush()

    assert [line["Items"] for line in lines(capsys)] == [[1.0]]


def test_no_line_has_more_values_of_a_metric_than_cloudwatch_takes(capsys):
    metrics = Metrics("Space")
    for value in range(VALUES_MAX + 1):
        metrics.add("Items", value)
    metrics.flush()

    assert [len(line["Items"]) for line in lines(capsys)] == [VALUES_MAX, 1]


def test_no_line_has_more_metrics_than_cloudwatch_takes(capsys):
    metrics = Metrics("Space")
    for number in range(VALUES_MAX + 1):
        metrics.add(f"Items{number}", 1)
    metrics.flush()

    described = [line["_aws"]["CloudWatchMetrics"][0]["Metrics"] for line in lines(capsys)]
    assert [len(each) for each in described] == [VALUES_MAX, 1]


def test_values_of_several_threads_are_each_written_once(capsys, monkeypatch):
    metrics, threads = Metrics("Space"), 8
    monkeypatch.setattr(emf.json, "dumps", _slow(json.dumps))
    with ThreadPoolExecutor(threads) as pool:
        for name in range(threads):
            pool.submit(lambda name=name: [metrics.add(f"M{name}", 1) for _ in range(VALUES_MAX)])
    metrics.flush()

    written = lines(capsys)
    assert [sum(len(line.get(f"M{name}", ())) for line in written) for name in range(threads)] == (
        [VALUES_MAX] * threads
    )


def _slow(dumps):
    """Return *dumps*, during which other threads run."""

    def slow(line):
        time.sleep(0.002)
        return dumps(line)

    return slow


def test_without_monitoring_no_metric_is_written(capsys, monkeypatch):
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
    metrics = Metrics("Space")
    metrics.add("Items", 1)
    metrics.flush()
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED")
    metrics.flush()

    assert lines(capsys) == []
