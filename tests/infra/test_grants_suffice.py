"""What the handlers send to DynamoDB, as it was recorded, is what they are granted, table by table.

The grants on the table of jobs: tests/infra/test_jobs.py. Those of other services: test_nothing_extra.py.
"""

from __future__ import annotations

import pytest

from fanin_cdk.grants.job_handlers import JOB_ROUTES, SWEEP_JOBS
from tests.infra.requests_sent import recorded, requests_sent, sent_in_some
from tests.infra.sending import FALLBACK
from tests.infra.test_functions import GRANTED, READ_STREAM

JOB_HANDLERS = {each.lambda_.name for each in (*JOB_ROUTES, SWEEP_JOBS)}
CLAIMS = {
    ("dynamodb:GetItem", "GrouperTablesTasks"),
    ("dynamodb:BatchGetItem", "GrouperTablesTasks"),
    ("dynamodb:GetItem", "GrouperTablesBundles"),
    ("dynamodb:GetItem", "GrouperTablesLeases"),
}
"""Sent where a refused write does not bring along what stands in its way, or a claim was refused."""


@pytest.mark.parametrize("handler", sorted(GRANTED.keys() - JOB_HANDLERS))
def test_a_handler_is_granted_what_its_use_case_sends_and_no_more(handler: str) -> None:
    sent = {(action, table) for action, table in requests_sent()[handler] if action.startswith("dynamodb:")}
    granted = {
        (action, table)
        for table, actions in GRANTED[handler].items()
        for action in actions - (READ_STREAM if "Stream" in str(actions) else set())
        if action.startswith("dynamodb:")
    }

    assert sent <= granted
    assert granted - sent <= {(action, f"Tables{table}") for action, table in FALLBACK} | CLAIMS


def test_what_handlers_send_now_is_in_the_record() -> None:
    now = sent_in_some()

    assert len(now) >= 8
    assert {name: sent - requests_sent()[name] for name, sent in now.items()} == {name: set() for name in now}


@pytest.mark.proof
def test_the_record_is_what_all_handlers_send_now() -> None:
    assert recorded() == requests_sent(), "run: python -m tests.infra.requests_sent"
