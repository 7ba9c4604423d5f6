"""Fanin() reads the environment at its first call, and says which variables it needs."""

from __future__ import annotations

import pytest

from fanin import Fanin, InvalidRequest
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.environment import transport_of_environment

NOT_THERE = "00000000-0000-4000-8000-000000000000"
TABLES = {"FANIN_BATCHES_TABLE": "b", "FANIN_PAGES_TABLE": "p", "FANIN_TENANT": "t"}
ALL = ("FANIN_URL", *TABLES)


@pytest.fixture(autouse=True)
def aws(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


def test_a_module_of_handlers_needs_no_variable_and_its_first_call_reads_them(service, monkeypatch):
    for name in ALL:
        monkeypatch.delenv(name, raising=False)
    fanin = Fanin()

    @fanin.acks
    def handler(record): ...

    failing = fanin.dead_letter_handler()
    monkeypatch.setenv("FANIN_URL", service.url)
    for name in TABLES:  # of the service, which runs in this process
        monkeypatch.setenv(name, "t")

    with fanin.open() as batch:
        items = batch.add(2)
    for call, item in ((handler, items[0]), (failing, items[1])):
        event = {"Records": [{"messageId": "m", "body": item, "attributes": {}}]}
        assert call(event, None) == {"batchItemFailures": []}
    assert batch.status().result == "completed_with_failures"


@pytest.mark.parametrize("given", [{}, {name: "" for name in ALL}])
def test_without_any_variable_the_error_names_all_four_once(given, monkeypatch):
    for name in ALL:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(InvalidRequest) as refused:
        Fanin().get(NOT_THERE)

    assert [str(refused.value).count(name) for name in ALL] == [1, 1, 1, 1]
    assert "fanin local env" in str(refused.value)


@pytest.mark.parametrize("missing", TABLES)
def test_an_error_says_which_variable_of_the_tables_is_missing(missing):
    given = {name: value for name, value in TABLES.items() if name != missing}

    with pytest.raises(InvalidRequest, match=rf"\({missing} missing\)"):
        transport_of_environment(env=given)


def test_tables_are_read_with_the_size_of_pages():
    over = transport_of_environment(env=TABLES | {"FANIN_PAGE_BITS": "16"})

    assert isinstance(over, DirectTransport)
    assert (over.tenant, over.tracker.page_bits) == ("t", 16)
    assert (over.tracker.store.tables.batches, over.tracker.store.tables.pages) == ("b", "p")
