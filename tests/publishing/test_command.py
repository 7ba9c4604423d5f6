"""The command ``fanin publish``: its options, its output and its exit codes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from botocore.exceptions import NoCredentialsError
from typer.testing import CliRunner

from fanin.aws import clients
from fanin.cli import publish as command
from fanin.cli.app import app
from fanin.errors import Conflict, StoreUnavailable
from fanin.publishing.publish import Again

URL = "http://127.0.0.1:1"


@pytest.fixture
def asked(monkeypatch):
    """What the command publishes, in place of doing so."""
    found = []

    def published(url, request):
        found.append((url, request))
        return "an-id"

    monkeypatch.setattr(command, "_published", published)
    return found


def run(*arguments):
    return CliRunner().invoke(app, ["publish", *arguments], env={"FANIN_URL": URL})


def test_the_id_is_printed_alone_and_the_user_key_is_the_name_of_the_file(asked, tmp_path):
    result = run(str(tmp_path / "catalog-7.jsonl"), "--queue", "https://sqs/1/work")
    ((url, request),) = asked

    assert (result.exit_code, result.stdout) == (0, "an-id\n")
    assert (url, request.user_key, request.queue_url) == (URL, "catalog-7", "https://sqs/1/work")
    assert (request.chunk, request.rate, request.again) == (None, None, None)


def test_every_option_arrives_and_a_queue_may_be_named(asked, monkeypatch):
    client = SimpleNamespace(get_queue_url=lambda QueueName: {"QueueUrl": f"https://sqs/1/{QueueName}"})  # noqa: N803
    monkeypatch.setattr(clients, "sqs", lambda: client)
    given = "--url http://elsewhere --queue work --chunk 64 --rate 2.5 --user-key k --again failed"
    assert run("rows.csv", *given.split()).exit_code == 0
    ((url, request),) = asked

    assert (url, request.queue_url, request.user_key) == ("http://elsewhere", "https://sqs/1/work", "k")
    assert (request.chunk, request.rate, request.again) == (64, 2.5, Again.FAILED)


def test_a_queue_that_does_not_exist_is_named(monkeypatch):
    class Absent(Exception):
        """The exception of the client."""

    def refuse(**_):
        raise Absent

    names = SimpleNamespace(QueueDoesNotExist=Absent)
    sqs = SimpleNamespace(get_queue_url=refuse, exceptions=names, meta=SimpleNamespace(endpoint_url="there"))
    monkeypatch.setattr(clients, "sqs", lambda: sqs)
    result = run("rows.jsonl", "--queue", "nope")

    assert (result.exit_code, "no queue 'nope'" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("error", "code"),
    [(Conflict("it is CLOSED"), 1), (NoCredentialsError(), 1), (StoreUnavailable("no answer"), 5)],
)
def test_a_refusal_is_a_sentence_and_a_code(monkeypatch, error, code):
    def published(url, request):
        raise error

    monkeypatch.setattr(command, "_published", published)
    result = run("rows.csv", "--queue", "https://sqs/1/work")

    assert (result.exit_code, result.stdout, result.stderr) == (code, "", f"{error}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("rows.csv",),
        ("rows.csv", "--queue", "q", "--chunk", "0"),
        ("rows.csv", "--queue", "q", "--chunk", "10001"),
        ("rows.csv", "--queue", "q", "--rate", "0"),
        ("rows.csv", "--queue", "q", "--again", "all"),
    ],
)
def test_wrong_options_are_2(asked, arguments):
    assert run(*arguments).exit_code == 2
    assert asked == []
