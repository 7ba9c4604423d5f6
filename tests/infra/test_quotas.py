"""What quotas add to a deployment: limits in the settings file, and a grant for each rate that is charged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from moto import mock_aws

from fanin.names import TENANT_QUEUES_INDEX
from fanin.quotas import Quota, Rates, limits_of
from fanin.quotas.dynamodb import DynamoQuotas
from fanin_cdk.grants.group_handlers import CONSUME_TASKS, GROUP_ROUTES
from fanin_cdk.grants.handlers import ROUTES, TOKEN_ROUTES
from fanin_cdk.grants.job_handlers import JOB_API, JOB_ROUTES
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import CHARGED, granted, limits, served
from tests.contract import moto_clients
from tests.contract.tables import create_tables
from tests.infra.sending import FALLBACK, Sent
from tests.quotas.world import admitted

HANDLERS = (*ROUTES, *TOKEN_ROUTES, *(each.lambda_ for each in (*GROUP_ROUTES, CONSUME_TASKS, *JOB_ROUTES)))
SET = Config(quota_open_batches=3, quota_adds=4, quota_tasks=5, quota_jobs=6, quota_queues=7, quota_reads=8)


def test_without_quotas_no_handler_is_granted_more():
    from fanin_cdk.settings.settings_file import settings_file

    assert [granted(each, Config()) for each in HANDLERS] == list(HANDLERS)
    assert settings_file(Config()).quotas == {}


def test_every_quota_is_in_the_settings_file_under_its_name():
    from fanin_cdk.settings.settings_file import settings_file

    assert settings_file(SET).quotas == {
        "openBatches": 3,
        "adds": 4,
        "tasks": 5,
        "jobs": 6,
        "queues": 7,
        "reads": 8,
    }
    assert set(limits_of(limits(SET))) == set(Quota)


@pytest.mark.parametrize("name", CHARGED)
def test_a_handler_that_charges_a_rate_is_granted_what_this_sends_and_no_more(name: str):
    (handler,) = (each for each in HANDLERS if each.name == name)
    added = {(action, "Batches") for action in set(granted(handler, SET).batches) - set(handler.batches)}
    before = {(action, "Batches") for action in handler.batches}
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        sent = Sent(client)
        rates = Rates(
            DynamoQuotas(client, "Batches"),
            limits_of(limits(SET)),
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        charges = [admitted(rates.charge, "t", Quota(CHARGED[name])) for _ in range(20)]

    assert set(charges) == {True, False}
    assert sent.actions <= before | added
    assert added - sent.actions <= FALLBACK


def test_a_function_of_the_api_is_granted_what_the_limits_of_its_handlers_add():
    def added(limited):
        functions = zip(served(JOB_API, limited), served(JOB_API, Config()), strict=True)
        return {with_.lambda_.name: with_.indexes for with_, without in functions if with_ != without}

    assert added(Config(quota_jobs=1)).keys() == {"api.write_queues"}
    assert TENANT_QUEUES_INDEX in added(Config(quota_queues=1))["api.write_queues"]
    assert added(Config(quota_reads=1)).keys() == {"api.read_queues"}


def test_only_the_rate_of_a_handler_grants_it_more():
    assert {each.name for each in HANDLERS if granted(each, Config(quota_adds=1)) != each} <= {"add_items"}
    tasks = {each.name for each in HANDLERS if granted(each, Config(quota_tasks=1)) != each}

    assert tasks == {"register_task", "consume_tasks"}
