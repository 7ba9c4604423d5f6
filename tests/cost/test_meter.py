"""The meter of clients: what answers report, what is computed, and both on a batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from hypothesis import example, given, settings
from hypothesis import strategies as st
from moto import mock_aws

from fanin.cost import Usage
from fanin.cost.meter import UsageMeter
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from lab.cost.units import UnitMeter
from tests.contract import moto_clients
from tests.contract.tables import TABLES, create_tables

KEY = {"pk": {"S": "a"}}
KIB = 1024


@pytest.fixture
def meter() -> Iterator[UsageMeter]:
    with moto_clients.tables_of_moto(), mock_aws():
        yield UsageMeter()


def table(meter: UsageMeter, is_reporting: bool = True) -> Any:
    client = moto_clients.client("dynamodb")
    client.create_table(
        TableName="t",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    meter.attach(client if is_reporting else without_reports(client))
    return client


def test_units_that_answers_report_are_taken(meter):
    client = table(meter)
    client.put_item(TableName="t", Item=KEY)
    client.get_item(TableName="t", Key=KEY)

    assert meter.usage.units == meter.reported == {"write_unit": 1, "read_unit": 0.5}
    assert meter.dollars == pytest.approx(0.625e-6 + 0.5 * 0.125e-6)


def test_reports_of_an_engine_that_bills_otherwise_are_not_taken():
    with moto_clients.tables_of_moto(), mock_aws():
        trusting, computing = UsageMeter(), UsageMeter(takes_reports=False)
        client = table(trusting)
        computing.attach(client)
        client.get_item(TableName="t", Key=KEY, ConsistentRead=True)

    assert trusting.usage.units == {"read_unit": 0.5}, "as moto reports it"
    assert computing.usage.units == {"read_unit": 1}
    assert computing.reported == {}


def without_reports(client: Any) -> Any:
    """A client, not metered yet, whose answers report no capacity, as if it were asked for none."""
    client.meta.events.register_first(
        "after-call.dynamodb", lambda parsed, **_: parsed.pop("ConsumedCapacity", None) and None
    )
    return client


def test_units_that_no_answer_reports_are_computed(meter):
    client = table(meter, is_reporting=False)
    long = {**KEY, "x": {"S": "x" * 1500}}
    client.put_item(TableName="t", Item=long)
    client.update_item(TableName="t", Key=KEY, UpdateExpression="SET y = x", ReturnValues="ALL_NEW")
    client.get_item(TableName="t", Key=KEY, ConsistentRead=True)
    client.batch_get_item(RequestItems={"t": {"Keys": [KEY, {"pk": {"S": "b"}}]}})

    assert meter.usage.units == {"write_unit": 2 + 3, "read_unit": 1 + 2 * 0.5}
    assert meter.reported == {}


def test_a_refused_write_is_billed_by_the_row_that_is_stored(meter):
    client = table(meter)
    client.put_item(TableName="t", Item={**KEY, "x": {"S": "x" * 2500}})
    spent = meter.usage

    with pytest.raises(ClientError):
        client.update_item(
            TableName="t",
            Key=KEY,
            UpdateExpression="SET y = :y",
            ExpressionAttributeValues={":y": {"S": "y"}},
            ConditionExpression="attribute_not_exists(x)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    assert (meter.usage - spent).units == {"write_unit": 3}


def test_a_resource_of_boto3_is_metered_as_a_client(meter):
    table(meter)
    resource = moto_clients.resource("dynamodb")
    rows, spent = resource.Table("t"), meter.usage
    meter.attach(rows.meta.client)
    rows.put_item(Item={"pk": "a", "x": "x" * 2500})
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        rows.put_item(Item={"pk": "a", "x": "x" * 3500}, ConditionExpression="attribute_not_exists(pk)")

    assert rows.get_item(Key={"pk": "a"})["Item"]["x"] == "x" * 2500
    assert (meter.usage - spent).units == {"write_unit": meter.reported["write_unit"] + 4, "read_unit": 0.5}
    assert set(meter.reported) == {"write_unit", "read_unit"}


@pytest.mark.parametrize(
    ("operation", "units"),
    [("transact_write_items", 2 * (3 + 1)), ("batch_write_item", 3 + 1)],
)
def test_the_rows_of_several_puts_are_counted_by_their_sizes(meter, operation, units):
    client = table(meter, is_reporting=False)
    long, short = {**KEY, "x": {"S": "x" * 2500}}, {"pk": {"S": "b"}}
    several = {
        "transact_write_items": {
            "TransactItems": [{"Put": {"TableName": "t", "Item": row}} for row in (long, short)]
        },
        "batch_write_item": {"RequestItems": {"t": [{"PutRequest": {"Item": row}} for row in (long, short)]}},
    }
    getattr(client, operation)(**several[operation])

    assert meter.usage.units == {"write_unit": units}


def test_a_refused_transaction_is_billed_by_the_rows_that_it_puts_too(meter):
    client = table(meter)
    client.put_item(TableName="t", Item=KEY)
    spent = meter.usage
    put = {
        "TableName": "t",
        "Item": {**KEY, "x": {"S": "x" * 2500}},
        "ConditionExpression": "attribute_exists(x)",
    }
    with pytest.raises(ClientError, match="TransactionCanceled"):
        client.transact_write_items(TransactItems=[{"Put": put}])

    assert (meter.usage - spent).units == {"write_unit": 2 * 3}


def test_a_binary_attribute_is_a_part_of_its_message(meter):
    client = moto_clients.client("sqs")
    url = client.create_queue(QueueName="q")["QueueUrl"]
    meter.attach(client)
    blob = {"DataType": "Binary", "BinaryValue": b"x" * 100 * KIB}
    client.send_message(QueueUrl=url, MessageBody="x", MessageAttributes={"blob": blob})

    assert meter.usage.units == {"queue_request": 2}


def test_events_that_the_bus_refuses_are_not_billed(meter):
    client = moto_clients.client("events")
    meter.attach(client)
    entries = [{"Source": "s", "DetailType": "t", "Detail": "{}"}] * 3
    with Stubber(client) as answers:
        refused = {"ErrorCode": "ThrottlingException"}
        answers.add_response(
            "put_events", {"FailedEntryCount": 1, "Entries": [{"EventId": "1"}, refused, {"EventId": "2"}]}
        )
        answers.add_client_error("put_events", "AccessDeniedException")
        client.put_events(Entries=entries)
        with pytest.raises(ClientError):
            client.put_events(Entries=entries)

    assert meter.usage.units == {"event": 2}


def test_messages_are_billed_by_64_kib_of_a_request(meter):
    client = moto_clients.client("sqs")
    url = client.create_queue(QueueName="q", Attributes={"MaximumMessageSize": "262144"})["QueueUrl"]
    meter.attach(client)
    client.send_message(QueueUrl=url, MessageBody="x" * (64 * KIB + 1))
    client.send_message_batch(
        QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": "x" * 20 * KIB} for i in range(10)]
    )
    sent = meter.usage
    client.receive_message(QueueUrl=url)

    assert sent.units == {"queue_request": 2 + 4}
    assert (meter.usage - sent).units == {"queue_request": 2}


def test_events_are_billed_by_64_kib_of_each(meter):
    client = moto_clients.client("events")
    meter.attach(client)
    entries = [
        {"Source": "s", "DetailType": "t", "Detail": json.dumps({"x": "x" * size})}
        for size in (10, 64 * KIB, 128 * KIB)
    ]
    client.put_events(Entries=entries)

    assert meter.usage.units == {"event": 1 + 2 + 3}


def answered(client: Any, operation: str, answer: dict[str, Any]) -> Any:
    """The client, whose answer of an operation is *answer*; it has no order of requests."""
    stubber = Stubber(client)
    stubber.add_response(operation, answer)
    stubber.activate()
    return client


@pytest.mark.parametrize(
    ("operation", "request_", "answer", "units"),
    [
        ("execute_statement", {"Statement": "INSERT INTO t VALUE {'pk': 'a'}"}, {}, {"write_unit": 7}),
        ("execute_statement", {"Statement": " select * from t"}, {}, {"read_unit": 7}),
        (
            "execute_transaction",
            {"TransactStatements": [{"Statement": "DELETE FROM t WHERE pk = 'a'"}]},
            {},
            {"write_unit": 7},
        ),
    ],
)
def test_statements_of_partiql_are_reads_or_writes_by_their_verb(meter, operation, request_, answer, units):
    client = moto_clients.client("dynamodb")
    meter.attach(client)
    capacity: Any = {"CapacityUnits": 7.0}
    answer = {"ConsumedCapacity": [capacity] if operation == "execute_transaction" else capacity}
    getattr(answered(client, operation, answer), operation)(**request_)

    assert meter.usage.units == units


def test_a_write_that_returns_the_row_before_it_is_billed_by_the_larger_row(meter):
    client = table(meter, is_reporting=False)
    large = KEY | {"v": {"S": "x" * 10 * KIB}}
    client.put_item(TableName="t", Item=KEY)
    client.put_item(TableName="t", Item=large, ReturnValues="ALL_OLD")

    assert meter.usage.units == {"write_unit": 1 + 11}


def test_keys_that_were_not_read_are_not_billed(meter):
    client = without_reports(moto_clients.client("dynamodb"))
    meter.attach(client)
    keys = {"t": {"Keys": [{"pk": {"S": str(number)}} for number in range(10)], "ConsistentRead": True}}
    answered(client, "batch_get_item", {"Responses": {"t": []}, "UnprocessedKeys": keys})
    client.batch_get_item(RequestItems=keys)

    assert meter.usage.units == {"read_unit": 0}


def units_of(ranges: Sequence[tuple[int, int]], page_bits: int) -> tuple[Usage, UnitMeter]:
    """Ack ranges of a batch, and return the units that were computed, and those of the rows themselves."""
    with mock_aws():
        client, uncounted = moto_clients.client("dynamodb"), moto_clients.client("dynamodb")
        create_tables(uncounted)
        tracker = Tracker(DynamoStore(client, Tables(*TABLES)), page_bits=page_bits)
        batch = tracker.open("t", OpenBatch())
        group = tracker.add("t", batch.batch_id, 5 * page_bits).groups[0].id
        meter, rows = UsageMeter().attach(without_reports(client)), UnitMeter(uncounted).attach(client)
        for first, last in ranges:
            tracker.ack("t", [Ack(batch.batch_id, group, first, last, "me")])
        return meter.usage, rows


def ends(last: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, last), st.integers(0, last)).map(lambda pair: (min(pair), max(pair)))


@settings(max_examples=6, deadline=None)
@given(st.lists(ends(79), min_size=1, max_size=6))
@example([(0, 79), (0, 79)])
def test_what_is_computed_of_a_batch_is_what_its_rows_cost(ranges):
    usage, rows = units_of(ranges, page_bits=16)

    assert (usage.units.get("write_unit", 0), usage.units.get("read_unit", 0)) == (rows.writes, rows.reads)


def test_requests_of_s3_are_metered_by_their_price():
    with mock_aws():
        meter, client = UsageMeter(), moto_clients.client("s3")
        client.create_bucket(Bucket="results")
        meter.attach(client)
        for _ in range(2):
            with suppress(ClientError):
                client.put_object(Bucket="results", Key="k", Body=b"1", IfNoneMatch="*")
        client.get_object(Bucket="results", Key="k")
        client.list_objects_v2(Bucket="results")
        client.delete_object(Bucket="results", Key="k")

        assert meter.usage.units == {"object_write": 3, "object_read": 1}
