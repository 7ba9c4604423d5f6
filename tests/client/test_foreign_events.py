"""What a handler of SQS messages gets and cannot be an event of SQS: it is refused with what is wrong."""

from __future__ import annotations

import pytest

from fanin import InvalidRequest
from fanin.testing import FakeFanin

FORGED = "00000000-0000-4000-8000-00000000dead:00000000-0000-4000-8000-00000000dead:0"
HANDLERS = {
    "acks": lambda fanin: fanin.acks(lambda _: None),
    "acks_each": lambda fanin: fanin.acks_each(lambda _: None),
    "dead_letter_handler": lambda fanin: fanin.dead_letter_handler(),
    "a queue's answer": lambda fanin: lambda *invocation: fanin.queue("q").answer(*invocation).__enter__(),
}
WITHOUT_RECORDS = r'\{"Records": \[\.\.\.\]\}'
FOREIGN = [
    (None, WITHOUT_RECORDS),
    ({}, WITHOUT_RECORDS),
    ({"requestContext": {}, "body": "{}"}, WITHOUT_RECORDS),
    ({"Records": FORGED}, WITHOUT_RECORDS),
    ({"Records": [FORGED]}, "record 0 is no object"),
    ({"Records": [{"MessageId": "m1", "Body": FORGED}]}, "record 0 has MessageId.* rename them"),
    ({"Records": [{"EventSource": "aws:sns", "Sns": {}}]}, "record 0 has no text as its messageId"),
    ({"Records": [{"messageId": "m1", "body": {"itemId": FORGED}}]}, "record 0 has no text as its body"),
    (
        {"Records": [{"messageId": "m1", "body": FORGED, "attributes": {"ApproximateReceiveCount": "x"}}]},
        "ApproximateReceiveCount",
    ),
]


@pytest.mark.parametrize("decorated", HANDLERS)
@pytest.mark.parametrize(("event", "refusal"), FOREIGN)
def test_what_is_no_event_of_sqs_is_refused_with_what_is_wrong(decorated, event, refusal):
    with pytest.raises(InvalidRequest, match=refusal):
        HANDLERS[decorated](FakeFanin())(event, None)
