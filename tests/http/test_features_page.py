"""The examples of docs/features.md that need a local run."""

from __future__ import annotations

from lab.local.batch_api import BatchApi, ServiceErrors
from lab.local.grouping import configure
from tests.pages import PageRun
from tests.testing.test_features_page import ON_A_RUN, of

POLICIES = [{"pattern": "*", "lingerSeconds": 1, "maxDelaySeconds": 1, "maxSize": 10}]


def test_the_examples_of_a_run_print_what_the_page_shows(run, tmp_path, monkeypatch):
    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    run.client("sqs").create_queue(QueueName="books")
    here = {"http://127.0.0.1:8787": run.url}
    with BatchApi(ServiceErrors()) as batch_api, PageRun(tmp_path, run.environment, replaced=here) as page:
        configure(run, POLICIES, batch_api)
        for block in of(*ON_A_RUN):
            page.block(block)
