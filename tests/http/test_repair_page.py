"""Runs the examples of docs/repair.md in order, unchanged, against the local run."""

from __future__ import annotations

import re
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from fanin import NotFound

PAGE = (Path(__file__).parents[2] / "docs" / "repair.md").read_text()
EXAMPLES = re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def names(run):
    """What the examples define, with the lines that each of them printed."""
    names = {"printed": {}}
    for title, code in EXAMPLES:
        lines = names["printed"][title] = []
        names["print"] = lambda *values, lines=lines: lines.append(" ".join(map(str, values)))
        exec(code.replace("http://127.0.0.1:8787", run.url), names)  # noqa: S102
    return names


def test_every_python_block_of_the_page_is_run(names):
    assert tuple(names["printed"]) == ("client", "reopen", "end", "resend", "delete")
    assert PAGE.count("```python") == len(EXAMPLES)


def test_what_the_page_says_is_printed_is_printed(names):
    printed = names["printed"]

    assert printed["client"] == ["completed_with_failures"]
    assert printed["reopen"] == ["True True", "False False", "succeeded"]
    assert printed["end"] == ["FAILED forced the source system was shut down"]
    with pytest.raises(NotFound):
        names["batch"].status()


def test_kept_messages_are_sent_with_the_new_ids_of_their_items(names):
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    with mock_aws():
        sqs = boto3.client("sqs", region_name="eu-west-1", **keys)
        kept, work = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("kept", "work"))
        for item in ("old-1", "other"):
            attributes = {
                "fanin.itemId": {"DataType": "String", "StringValue": item},
                "mine": {"DataType": "String", "StringValue": "x"},
            }
            sqs.send_message(
                QueueUrl=kept, MessageBody=f'{{"itemId": "{item}"}}', MessageAttributes=attributes
            )
        names["resend"](sqs, kept, work, {"old-1": "new-1"})
        (sent,) = sqs.receive_message(QueueUrl=work, MessageAttributeNames=["All"])["Messages"]

        assert sent["Body"] == '{"itemId": "new-1"}'
        assert set(sent["MessageAttributes"]) == {"mine"}
        of_queue = sqs.get_queue_attributes(QueueUrl=kept, AttributeNames=["All"])["Attributes"]
        assert of_queue["ApproximateNumberOfMessagesNotVisible"] == "1"
