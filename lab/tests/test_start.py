"""What ``make start`` keeps: ratios, the limits, and the targets of each group."""

from __future__ import annotations

import os

import pytest

from lab.pages import results
from lab.pages.revision import ROOT
from lab.start.__main__ import BOTO, ENVIRONMENT, FIXED, LIMITS, Start, ratios_of, requests
from lab.start.ratios import PYTHON, keep_ratios

SECONDS = {
    PYTHON: 0.01,
    BOTO: 0.2,
    "import fanin": 0.02,
    "fanin --version": 0.04,
    "consume_acks": 0.16,
    "api.read_batches": 0.3,
    "sweep": 0.22,
}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    starts = {
        name: [Start(seconds * factor, 40) for factor in (1, 1, 9)] for name, seconds in SECONDS.items()
    }
    return keep_ratios(list(ratios_of(starts)), rounds=3)


def test_each_program_is_measured_by_its_median_in_that_of_boto3(kept):
    rows = {row[0]: row[1:] for row in kept.tables["starts"].rows}

    assert list(rows)[:2] == list(FIXED)
    assert rows["api.read_batches"] == ("300", "1.50", "40")
    assert rows[BOTO] == ("200", "1.00", "40")


def test_a_group_misses_its_target_by_the_handler_that_is_over(kept):
    targets = {target.what: target for target in kept.targets}

    assert len(targets) == len(LIMITS)
    assert targets["start of functions of the API, times boto3"].is_met
    missed = targets["start of consumers and sweepers, times boto3"]
    assert (missed.is_met, missed.measured) == (False, "1.10")
    assert missed.reason.startswith("sweep: two runs")


def test_the_plot_has_the_groups(kept):
    bars = kept.plots["ratios"].bars

    assert bars["functions of the API, most"] == pytest.approx(1.5)
    assert bars["consumers and sweepers, least"] == pytest.approx(0.8)
    assert kept.figures["consumer-median"] == "0.95"


def test_a_route_answers_in_the_environment_of_the_benchmark():
    search = os.pathsep.join((str(ROOT), str(ROOT / "shared")))
    first, later = requests(ENVIRONMENT | {"PATH": os.environ["PATH"], "PYTHONPATH": search})

    assert first > 0
    assert later > 0
