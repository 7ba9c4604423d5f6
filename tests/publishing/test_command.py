"""The command ``fanin publish``: its options, its output and its exit codes, over the deployed handlers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from moto import mock_aws

from fanin import Fanin
from fanin.aws import clients
from fanin.cli.terminal.exits import ExitCode
from fanin.publishing import sender as publishing
from tests.api.published import checked
from tests.cli.conftest import environment, fanin, gateway, memory, served
from tests.cli.serving import refusal
from tests.contract import moto_clients

__all__ = ["environment", "fanin", "gateway", "memory", "served"]

JSON = {"content-type": "application/json"}


@pytest.fixture
def sqs(monkeypatch):
    """SQS with a queue ``work``."""
    with mock_aws():
        client = moto_clients.client("sqs")
        client.create_queue(QueueName="work")
        monkeypatch.setattr(clients, "sqs", lambda: client)
        monkeypatch.setattr(publishing, "each_in_threads", publishing.each_in_turn)
        yield client


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "catalog-7.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(25)))
    return str(path)


def depth(sqs):
    url = sqs.get_queue_url(QueueName="work")["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(attributes["ApproximateNumberOfMessages"])


def test_the_id_is_printed_alone_and_the_user_key_is_the_name_of_the_file(fanin, sqs, rows, served):
    result = fanin("publish", rows, "--queue", "work").ok()
    status = Fanin(served.url).status(result.out.strip())

    assert (status.user_key, status.total, status.state) == ("catalog-7", 25, "CLOSED")
    assert result.err == f"publish at {served.url.partition('//')[2]}\nsent 25 of 25 rows\n"
    assert depth(sqs) == 25


QUEUES = "https://sqs.us-east-1.amazonaws.com/123456789012"
REFUSED = [
    ("none.jsonl", None, "no-such-queue", "none.jsonl cannot be read: "),
    ("a.txt", None, "no-such-queue", "a.txt is none of "),
    ("empty.csv", "", "work", "empty.csv is empty: CSV begins with a header line\n"),
    (
        "empty.jsonl",
        "\n",
        "work",
        "empty.jsonl has no rows, and its batch would complete at once; if that",
    ),
    ("rows.jsonl", "1\n", "nope", "check its name. No batch was opened\n"),
    ("rows.jsonl", "1\n", "a b", "'a b' is neither the name nor the URL of a queue"),
    ("rows.jsonl", "1\n", "arn:aws:sqs:r:1:q", "'arn:aws:sqs:r:1:q' is neither the name nor the URL"),
    ("rows.jsonl", "1\n", f"{QUEUES}/nope", f"{QUEUES}/nope"),
    ("rows.jsonl", "1\n", f"{QUEUES}/work.fifo", f"{QUEUES}/work.fifo"),
]


@pytest.mark.parametrize(("name", "content", "queue", "why"), REFUSED)
def test_a_file_or_a_queue_that_does_not_serve_is_named_and_no_batch_is_opened(
    fanin, sqs, tmp_path, served, name, content, queue, why
):
    sqs.create_queue(QueueName="work.fifo", Attributes={"FifoQueue": "true"})
    if content is not None:
        (tmp_path / name).write_text(content)
    result = fanin("publish", str(tmp_path / name), "--queue", queue)

    assert (result.code, result.out) == (ExitCode.REFUSED, "")
    assert why in result.err
    assert list(Fanin(served.url).batches()) == []


def test_an_empty_file_is_published_if_that_is_meant(fanin, sqs, tmp_path, served):
    (tmp_path / "none.jsonl").touch()
    batch = (
        fanin("publish", str(tmp_path / "none.jsonl"), "--queue", "work", "--allow-empty").ok().out.strip()
    )

    assert Fanin(served.url).status(batch).result == "succeeded"


def test_ctrl_c_while_rows_are_sent_says_how_to_go_on_and_the_same_command_does(
    fanin, sqs, rows, monkeypatch
):
    real, asked = publishing.send, []

    def interrupted(*arguments):
        asked.append(arguments)
        if len(asked) == 2:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(publishing, "send", interrupted)
    stopped = fanin("publish", rows, "--queue", "work")
    monkeypatch.setattr(publishing, "send", real)
    fanin("publish", rows, "--queue", "work").ok()

    assert (stopped.code, stopped.out) == (ExitCode.INTERRUPTED, "")
    assert stopped.err.splitlines()[1:] == ["interrupted; the same command again goes on where it stopped"]
    assert depth(sqs) >= 25


def test_with_json_the_document_of_the_batch_is_printed(fanin, sqs, rows):
    result = fanin("publish", rows, "--queue", "work", "--chunk", "10", "--json").ok()
    (document,) = result.documents

    assert depth(sqs) == 3
    checked("GET", f"/v1/batches/{document['batchId']}", 200, JSON, result.out)


def test_options_say_the_name_the_size_of_a_message_and_what_is_sent_again(fanin, sqs, rows, served):
    options = ["publish", rows, "--queue", "work", "--user-key", "mine", "--rate", "1000"]
    fanin(*options).ok()
    repeated = fanin(*options).ok()
    client = Fanin(served.url)
    (outstanding,) = client.outstanding(repeated.out.strip())
    client.ack(outstanding[:5])
    again = fanin(*options, "--again", "outstanding").ok()
    client.cancel(again.out.strip())
    over = fanin(*options, "--again", "failed")

    assert (repeated.out, depth(sqs)) == (again.out, 45)
    assert "is CLOSED: all rows of " in repeated.err
    assert "--again outstanding or --again failed" in repeated.err
    assert "sent 20 of 25 rows, skipped 5" in again.err
    assert over.code == ExitCode.REFUSED
    assert "is CANCELLED (cancelled); nothing was sent: do what is not done with fanin.reopen(" in over.err


def test_options_of_the_batch_are_those_of_open_and_one_with_enough_successes_is_sent_no_further(
    fanin, sqs, rows, served
):
    options = ["--min-succeeded=2", "--max-failure-percent=50", "--deadline=6h", "--stuck-after=10m"]
    batch = fanin("publish", rows, "--queue", "work", *options).ok().out.strip()
    client = Fanin(served.url)
    status = client.status(batch)

    assert (status.min_succeeded, status.max_failure_percent) == (2, 50)
    assert status.deadline_at - status.created_at == timedelta(hours=6)
    assert status.stuck_after == timedelta(minutes=10)
    other = fanin("publish", rows, "--queue", "work", "--deadline", "7h")
    assert (other.code, "another --user-key is another key" in other.err) == (ExitCode.REFUSED, True)
    (outstanding,) = client.outstanding(batch)
    client.ack(outstanding[:2])
    again = fanin("publish", rows, "--queue", "work", *options).ok()
    assert (again.out.strip(), depth(sqs)) == (batch, 25)
    assert "is COMPLETE (enough): enough rows of " in again.err


def test_an_empty_user_key_is_refused_and_not_replaced(fanin, sqs, rows, served):
    refused = fanin("publish", rows, "--queue", "work", "--user-key", "")

    assert refused.code == ExitCode.REFUSED
    assert "a user key has 1 to 256 characters" in refused.err
    assert not served.posts("/v1/batches")


def test_refused_credentials_are_4_and_no_answer_is_5(fanin, sqs, rows, served):
    served.faults[:] = [refusal(403)]
    assert fanin("publish", rows, "--queue", "work").code == ExitCode.DENIED
    served.faults[:] = [refusal(503)] * 50
    assert fanin("publish", rows, "--queue", "work").code == ExitCode.UNANSWERED
    served.faults.clear()
    assert fanin("publish", rows, "--queue", "work").code == ExitCode.SUCCESS


SENT = "rows.csv --queue q"


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "rows.csv",
        f"{SENT} --chunk 0",
        f"{SENT} --chunk 10001",
        f"{SENT} --rate 0",
        f"{SENT} --again all",
        f"{SENT} --failure-sample 1",
    ],
)
def test_wrong_options_are_2(fanin, sqs, arguments):
    assert fanin("publish", *arguments.split()).code == ExitCode.USAGE


def test_the_fields_of_csv_are_printed_so_that_a_missing_header_is_noticed(fanin, sqs, tmp_path):
    path = tmp_path / "books.csv"
    path.write_text("Emma,7.5\nUlysses,12\n")

    result = fanin("publish", str(path), "--queue", "work").ok()

    assert "the first line is the header, so each row has the fields: Emma, 7.5" in result.err


def test_an_object_of_s3_is_published_and_one_that_is_not_there_is_refused(fanin, sqs, served, monkeypatch):
    s3 = moto_clients.client("s3")
    s3.create_bucket(Bucket="lake")
    monkeypatch.setattr(clients, "s3", lambda: s3)
    s3.put_object(Bucket="lake", Key="in/books.csv", Body=b"title,price\nEmma,7.5\n")
    result = fanin("publish", "s3://lake/in/books.csv", "--queue", "work").ok()
    status = Fanin(served.url).status(result.out.strip())

    assert (status.user_key, status.total, status.state) == ("books", 1, "CLOSED")
    assert status.labels["source"] == "s3://lake/in/books.csv"
    assert "each row has the fields: title, price\nsent 1 of 1 rows\n" in result.err
    missing = fanin("publish", "s3://lake/none.csv", "--queue", "work")
    assert (missing.code, "there is no object s3://lake/none.csv" in missing.err) == (ExitCode.REFUSED, True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["s3://lake/a.jsonl", "--again", "failed", "--allow-empty"],
            "takes no --again and no --allow-empty",
        ),
        (["rows.jsonl"], "--server needs s3://BUCKET/KEY"),
        (["s3://lake/a.jsonl", "--user-key", "live"], "'live' names a live batch already"),
        (["s3://lake/a.jsonl", "--max-items", "1", "--results"], "publishes no s3://lake/a.jsonl"),
    ],
)
def test_what_the_stack_cannot_publish_is_refused(fanin, sqs, served, arguments, text):
    Fanin(served.url).open("live")
    result = fanin("publish", *arguments, "--queue", "work", "--server")

    assert result.code != 0
    assert text in " ".join(result.err.split())
