"""An SQS queue as a worker sees it: the form of its records, what is refused, and what may be repeated."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from fanin.aws.messaging.receiving import ReceivedQueue
from fanin.errors import StoreUnavailable

ARN = "arn:aws:sqs:eu-west-1:123456789012:work"


def queue(**answers):
    """A queue whose client answers so, or raises."""

    def call(answer):
        def answered(**request):
            if isinstance(answer, str):
                raise ClientError({"Error": {"Code": answer}}, "ReceiveMessage")
            return answer(request)

        return answered

    client = SimpleNamespace(**{name: call(answer) for name, answer in answers.items()})
    return ReceivedQueue(client, "https://sqs/work", ARN, 30)


def test_a_message_is_hidden_for_as_long_as_asked_and_has_the_form_of_lambda():
    message = {"MessageId": "m", "ReceiptHandle": "r", "Body": "x", "MD5OfBody": "md5"}
    asked = []
    source = queue(receive_message=lambda request: asked.append(request) or {"Messages": [message]})

    (record,) = source.receive(10, 5, 65)

    assert (asked[0]["VisibilityTimeout"], asked[0]["WaitTimeSeconds"]) == (65, 5)
    assert (record["messageId"], record["receiptHandle"], record["awsRegion"]) == ("m", "r", "eu-west-1")
    assert record["eventSourceARN"] == ARN


def test_the_receipt_handles_that_sqs_refuses_are_returned():
    failed = {"Failed": [{"Id": "1", "Code": "ReceiptHandleIsInvalid"}]}
    source = queue(
        delete_message_batch=lambda _: failed, change_message_visibility_batch=lambda _: {"Successful": []}
    )

    assert source.delete(["a", "b"]) == {"b"}
    assert source.hide(["a", "b"], 30) == set()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("OverLimit", StoreUnavailable),
        ("AWS.SimpleQueueService.OverLimit", StoreUnavailable),
        ("RequestThrottled", StoreUnavailable),
        ("AccessDenied", ClientError),
    ],
)
def test_what_sqs_throttles_may_be_repeated_and_what_it_refuses_may_not(code, kind):
    with pytest.raises(kind):
        queue(receive_message=code).receive(10, 5)
