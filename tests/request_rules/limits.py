"""Each limit of a request, with the page of AWS that has it and the requests around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fanin.local.request_rules import events, expressions, queries, refusal, sqs, table_keys
from fanin.local.request_rules.dynamodb import BATCHES, STATEMENTS
from tests.request_rules.requests import (
    TABLE,
    Request,
    attributed,
    batch_get,
    batch_write,
    compared,
    condition,
    events_of,
    get,
    heavy,
    in_local_index,
    message,
    messages,
    named,
    nested,
    one_of,
    put,
    query,
    scan,
    sized,
    summed,
    text,
    transaction,
    update,
)

KEYS, QUOTAS = table_keys.PAGE, refusal.QUOTAS
EXPRESSIONS = expressions.PAGE
MIB = 1024 * 1024


@dataclass(frozen=True)
class Limit:
    """*most* of what *request* makes is taken of an *operation*, and one *step* more is refused by *page*.

    The step is negative where the limit is the least.
    """

    operation: str
    most: int
    request: Callable[[int], Request]
    page: str
    step: int = 1


def _values(count: int) -> Request:
    """A condition whose placeholder and value have *count* bytes."""
    return condition("a = :v", {":v": text("x" * (count - len(":v")))})


def _placeholder(count: int) -> Request:
    name = f":{'v' * (count - 1)}"
    return condition(f"a = {name}", {name: text("")})


def _power(exponent: int) -> Request:
    return put({"n": {"N": f"1E{exponent}"}})


def _negative(exponent: int) -> Request:
    return put({"n": {"N": f"-1E{exponent}"}})


def _path(count: int) -> Request:
    return update("REMOVE a" + ".b" * count)


def _stored(count: int) -> Request:
    """An update that stores an attribute of *count* bytes with its key."""
    return update("SET a = :a", {":a": text("x" * (count - len("pkpsks") - len("a")))})


def _receive(name: str) -> Callable[[int], Request]:
    return lambda found: {"QueueUrl": "q", name: found}


def _entries(count: int) -> Request:
    return {"QueueUrl": "q", "Entries": [{"Id": str(each)} for each in range(count)]}


def _hidden(seconds: int) -> Request:
    return {"QueueUrl": "q", "Entries": [{"Id": "a", "VisibilityTimeout": seconds}]}


def _invoked(count: int, kind: str = "RequestResponse") -> Request:
    return {"FunctionName": "f", "InvocationType": kind, "Payload": b"x" * count}


def _ended(name: str) -> Callable[[int], Request]:
    return lambda count: {"taskToken": "t", name: "x" * count}


def _statements(count: int, characters: int = 0) -> Request:
    statement = f"INSERT INTO \"{TABLE}\" VALUE {{'pk':?,'sk':'b'}}".ljust(characters)
    return {
        "Statements": [{"Statement": statement, "Parameters": [text(str(each))]} for each in range(count)]
    }


LIMITS = {
    "statements of a batch": Limit("BatchExecuteStatement", 25, _statements, STATEMENTS),
    "characters of a statement": Limit(
        "BatchExecuteStatement", 8192, lambda n: _statements(1, n), STATEMENTS
    ),
    "bytes of an expression": Limit(
        "UpdateItem", 4096, lambda n: update(f"SET {'a' * (n - 9)} = :v", {":v": text("x")}), EXPRESSIONS
    ),
    "operators of a condition": Limit("PutItem", 300, compared, EXPRESSIONS),
    "operators of an update": Limit("UpdateItem", 300, summed, EXPRESSIONS),
    "operands of IN": Limit("PutItem", 100, one_of, EXPRESSIONS),
    "dereference operators of a path": Limit("UpdateItem", 32, _path, expressions.PATHS),
    "bytes of a placeholder": Limit("PutItem", 255, _placeholder, EXPRESSIONS),
    "bytes of all placeholders and values": Limit("PutItem", 2 * MIB, _values, EXPRESSIONS),
    "bytes of a partition key": Limit("GetItem", 2048, lambda n: get(pk="x" * n), KEYS),
    "bytes of a sort key": Limit("GetItem", 1024, lambda n: get(sk="x" * n), KEYS),
    "bytes of a key in UTF-8": Limit("GetItem", 1024, lambda n: get(sk="é" * (n // 2)), KEYS, step=2),
    "bytes of a key of an unknown table": Limit(
        "GetItem", 2048, lambda n: {"TableName": "Else", "Key": {"pk": text("x" * n)}}, KEYS
    ),
    "bytes of an index's sort key": Limit("PutItem", 1024, lambda n: put({"ix": text("x" * n)}), KEYS),
    "bytes of an index's key in an update": Limit(
        "UpdateItem", 1024, lambda n: update("SET ix = :v", {":v": text("x" * n)}), KEYS
    ),
    "bytes of a key that is queried": Limit(
        "Query", 2048, lambda n: query("pk = :v", {":v": text("x" * n)}), KEYS
    ),
    "bytes of an attribute's name": Limit("PutItem", 65_535, named, QUOTAS),
    "bytes of an item": Limit("PutItem", 409_600, sized, QUOTAS),
    "bytes of an item with its entry in a local index": Limit("PutItem", 409_600, in_local_index, QUOTAS),
    "bytes that an update stores": Limit("UpdateItem", 409_600, _stored, QUOTAS),
    "digits of a number": Limit("PutItem", 38, lambda n: put({"n": {"N": "9" * n}}), QUOTAS),
    "digits of a fraction": Limit("PutItem", 38, lambda n: put({"n": {"N": "0.0" + "9" * n}}), QUOTAS),
    "magnitude of a number": Limit("PutItem", 125, _power, QUOTAS),
    "magnitude of a negative number": Limit("PutItem", 125, _negative, QUOTAS),
    "smallness of a number": Limit("PutItem", -130, _power, QUOTAS, step=-1),
    "smallness of a negative number": Limit("PutItem", -130, _negative, QUOTAS, step=-1),
    "levels of an attribute": Limit("PutItem", 32, nested, QUOTAS),
    "actions of a transaction": Limit("TransactWriteItems", 100, transaction, refusal.TRANSACTIONS),
    "reads of a transaction": Limit(
        "TransactGetItems",
        100,
        lambda n: {"TransactItems": [{"Get": get(sk=str(each))} for each in range(n)]},
        refusal.TRANSACTIONS,
    ),
    "bytes of a transaction": Limit("TransactWriteItems", 4 * MIB, heavy, refusal.TRANSACTIONS),
    "characters of a token": Limit(
        "TransactWriteItems",
        36,
        lambda n: transaction(1, ClientRequestToken="t" * n),
        refusal.TRANSACTIONS,
    ),
    "writes of a batch": Limit("BatchWriteItem", 25, batch_write, BATCHES),
    "reads of a batch": Limit("BatchGetItem", 100, batch_get, BATCHES),
    "limit of a query": Limit(
        "Query", 1, lambda n: query("pk = :v", {":v": text("x")}, Limit=n), queries.QUERY, step=-1
    ),
    "segments of a scan": Limit("Scan", 1_000_000, lambda n: scan(0, n), queries.SCAN),
    "number of a segment": Limit("Scan", 3, lambda n: scan(n, 4), queries.SCAN),
    "first segment": Limit("Scan", 0, lambda n: scan(n, 4), queries.SCAN, step=-1),
    "messages of a batch": Limit("SendMessageBatch", 10, messages, sqs.BATCH),
    "bytes of a message": Limit("SendMessage", MIB, message, sqs.QUOTAS),
    "bytes of a batch of messages": Limit(
        "SendMessageBatch", MIB, lambda n: messages(8, n // 8), sqs.QUOTAS, step=8
    ),
    "id of an entry": Limit("SendMessageBatch", 80, lambda n: messages(1, 1, "a" * n), sqs.BATCH),
    "attributes of a message": Limit("SendMessage", 10, attributed, sqs.QUOTAS),
    "delay of a message": Limit("SendMessage", 900, lambda n: message(1, DelaySeconds=n), sqs.QUOTAS),
    "least delay of a message": Limit(
        "SendMessage", 0, lambda n: message(1, DelaySeconds=n), sqs.QUOTAS, step=-1
    ),
    "message group": Limit("SendMessage", 128, lambda n: message(1, MessageGroupId="a" * n), sqs.QUOTAS),
    "messages received": Limit("ReceiveMessage", 10, _receive("MaxNumberOfMessages"), sqs.QUOTAS),
    "least messages received": Limit(
        "ReceiveMessage", 1, _receive("MaxNumberOfMessages"), sqs.QUOTAS, step=-1
    ),
    "a long poll": Limit("ReceiveMessage", 20, _receive("WaitTimeSeconds"), sqs.QUOTAS),
    "a visibility timeout at a receive": Limit(
        "ReceiveMessage", 43_200, _receive("VisibilityTimeout"), sqs.QUOTAS
    ),
    "a visibility timeout": Limit(
        "ChangeMessageVisibility", 43_200, _receive("VisibilityTimeout"), sqs.QUOTAS
    ),
    "a visibility timeout of a batch": Limit("ChangeMessageVisibilityBatch", 43_200, _hidden, sqs.QUOTAS),
    "deletes of a batch": Limit("DeleteMessageBatch", 10, _entries, sqs.BATCH),
    "events of a request": Limit("PutEvents", 10, events_of, events.PUT_EVENTS),
    "least events of a request": Limit("PutEvents", 1, events_of, events.PUT_EVENTS, step=-1),
    "bytes of events": Limit("PutEvents", 262_143, lambda n: events_of(1, n), events.SIZES),
    "bytes of an invocation": Limit("Invoke", 6 * MIB, _invoked, events.LAMBDA),
    "bytes of an asynchronous invocation": Limit(
        "Invoke", MIB, lambda n: _invoked(n, "Event"), events.LAMBDA
    ),
    "bytes of a task's output": Limit(
        "SendTaskSuccess",
        262_144,
        lambda n: {"taskToken": "t", "output": "é" * (n // 2)},
        events.STATES,
        step=2,
    ),
    "characters of a task's error": Limit("SendTaskFailure", 256, _ended("error"), events.STATES),
    "characters of a task's cause": Limit(
        "SendTaskFailure", 32_768, lambda n: {"taskToken": "t", "cause": "é" * n}, events.STATES
    ),
}
