"""A cold start imports only what is used, and Fanin() reads the environment at its first call."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import fanin
from fanin import Fanin, InvalidRequest
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.environment import transport_of_environment

HEAVY = "boto3 botocore urllib3 pydantic aws_lambda_powertools"


def loaded(code: str) -> set[str]:
    """Which of the heavy packages, and of our own modules, a fresh process has loaded after *code*."""
    wanted = {*HEAVY.split(), "fanin"}
    return {name for name in added(code) if name.split(".")[0] in wanted}


def added(code: str) -> set[str]:
    """Return the modules that *code* adds to those of a fresh process."""
    listing = f"import sys; before = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    completed = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True, env=env
    )
    return set(completed.stdout.split())


def heavy(names: set[str]) -> set[str]:
    return names & set(HEAVY.split())


@pytest.mark.parametrize("code", ["import fanin", "from fanin import *"])
def test_the_package_and_all_its_names_load_no_third_party(code):
    assert {name.split(".")[0] for name in added(code)} - sys.stdlib_module_names == {"fanin"}


def test_a_local_run_over_http_loads_no_aws_library():
    assert heavy(loaded("from fanin import Fanin; Fanin('http://127.0.0.1:1')")) == {"urllib3"}


def test_http_does_not_load_boto3():
    names = loaded("from fanin import Fanin; Fanin('https://a.execute-api.eu-west-1.amazonaws.com')")

    assert heavy(names) == {"urllib3", "botocore"}


def test_a_consumer_inside_aws_loads_neither_the_http_client_nor_models():
    names = loaded(
        "from fanin import Fanin, Tables\n"
        "import os; os.environ['AWS_DEFAULT_REGION'] = 'eu-west-1'\n"
        "fanin = Fanin.direct(Tables('b', 'p'), 't')\n"
        "@fanin.acks\n"
        "def handle(record): ...\n"
    )

    assert (
        not {
            "pydantic",
            "aws_lambda_powertools",
            "fanin.client.transports.http",
            "fanin.client.transports.signing",
        }
        & names
    )
    assert "fanin.client.consuming.consumer" in names


def test_work_without_a_tracer_provider_loads_nothing_of_opentelemetry():
    names = added(
        "from fanin import send\n"
        "from fanin.testing import FakeFanin, deliver\n"
        "fake = FakeFanin()\n"
        "with fake.in_place_of(fake), fake.open() as batch:\n"
        "    send('work', batch.add(1), [1])\n"
        "assert deliver(fake.acks(lambda record: None), fake.sent['work']).acked\n"
    )

    assert "fanin.client.tracing" in names
    assert not [name for name in names if name.startswith("opentelemetry")]


def test_every_public_name_is_there_and_they_are_sorted():
    assert fanin.__all__ == sorted(fanin.__all__)
    assert all(getattr(fanin, name).__name__ == name for name in fanin.__all__)


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
        Fanin().status(NOT_THERE)

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
