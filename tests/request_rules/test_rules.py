"""Each rule: a request at the limit passes, and one beyond it is refused."""

from __future__ import annotations

import pytest

from fanin.local.request_rules import Refused, check
from tests.request_rules.requests import (
    attributed,
    batch_get,
    batch_write,
    compared,
    condition,
    events,
    get,
    heavy,
    in_local_index,
    key,
    message,
    messages,
    nested,
    numbered,
    one_of,
    put,
    query,
    sized,
    tables,
    text,
    transaction,
    update,
)

V = {":v": text("x")}
ONE = {":n": {"N": "1"}}
# what is limited: (operation, the request that passes, the one that is refused, a part of the reason)
LIMITS = {
    "bytes of an expression": (
        "UpdateItem",
        update(f"SET {'a' * 4087} = :v", V),
        update(f"SET {'a' * 4088} = :v", V),
        "4,097, and at most 4,096",
    ),
    "operators of a condition": ("PutItem", compared(299), compared(301), "301, and at most 300"),
    "operators of an update": (
        "UpdateItem",
        update(f"SET a = {' + '.join([':n'] * 301)}", ONE),
        update(f"SET a = {' + '.join([':n'] * 302)}", ONE),
        "301, and at most 300",
    ),
    "operands of IN": ("PutItem", one_of(100), one_of(101), "operands of IN: 101"),
    "bytes of a placeholder": (
        "PutItem",
        condition(f"a = :{'v' * 254}", {f":{'v' * 254}": text("")}),
        condition(f"a = :{'v' * 255}", {f":{'v' * 255}": text("")}),
        "256, and at most 255",
    ),
    "bytes of a partition key": (
        "GetItem",
        get(pk="x" * 2048),
        get(pk="x" * 2049),
        "key attribute pk: 2,049",
    ),
    "bytes of a sort key": ("GetItem", get(sk="x" * 1024), get(sk="x" * 1025), "key attribute sk: 1,025"),
    "bytes of a key in UTF-8": ("GetItem", get(sk="é" * 512), get(sk="é" * 513), "key attribute sk: 1,026"),
    "bytes of an index's sort key": (
        "PutItem",
        put({"ix": text("x" * 1024)}),
        put({"ix": text("x" * 1025)}),
        "key attribute ix",
    ),
    "bytes of an index's key in an update": (
        "UpdateItem",
        update("SET ix = :v", {":v": text("x" * 1024)}),
        update("SET ix = :v", {":v": text("x" * 1025)}),
        "key attribute ix",
    ),
    "bytes of an item": ("PutItem", sized(409_600), sized(409_601), "409,601, and at most 409,600"),
    "bytes of an item with its local index": (
        "PutItem",
        in_local_index(409_600),
        in_local_index(409_601),
        "local indexes: 409,601",
    ),
    "digits of a number": (
        "PutItem",
        put({"n": {"N": "9" * 38}}),
        put({"n": {"N": "9" * 39}}),
        "39, and at most 38",
    ),
    "magnitude of a number": (
        "PutItem",
        put({"n": {"N": "9.9E+125"}}),
        put({"n": {"N": "1E+126"}}),
        "overflow",
    ),
    "smallness of a number": (
        "PutItem",
        put({"n": {"N": "1E-130"}}),
        put({"n": {"N": "1E-131"}}),
        "underflow",
    ),
    "nesting": ("PutItem", nested(32), nested(33), "33, and at most 32"),
    "actions of a transaction": ("TransactWriteItems", transaction(100), transaction(101), "101"),
    "bytes of a transaction": ("TransactWriteItems", heavy(4_194_304), heavy(4_194_305), "4,194,305"),
    "characters of a token": (
        "TransactWriteItems",
        transaction(1, ClientRequestToken="t" * 36),
        transaction(1, ClientRequestToken="t" * 37),
        "37, and at most 36",
    ),
    "writes of a batch": ("BatchWriteItem", batch_write(25), batch_write(26), "26, and at most 25"),
    "reads of a batch": ("BatchGetItem", batch_get(100), batch_get(101), "101, and at most 100"),
    "limit of a query": ("Query", query("pk = :v", V, Limit=1), query("pk = :v", V, Limit=0), "at least 1"),
    "segments of a scan": (
        "Scan",
        {"TableName": "Things", "Segment": 999_999, "TotalSegments": 1_000_000},
        {"TableName": "Things", "Segment": 0, "TotalSegments": 1_000_001},
        "1,000,001",
    ),
    "messages of a batch": ("SendMessageBatch", messages(10), messages(11), "11 entries"),
    "bytes of a message": ("SendMessage", message(1_048_576), message(1_048_577), "1,048,577"),
    "bytes of a batch of messages": (
        "SendMessageBatch",
        messages(8, 131_072),
        messages(8, 131_073),
        "1,048,584",
    ),
    "id of an entry": ("SendMessageBatch", messages(1, 1, "a" * 80), messages(1, 1, "a" * 81), "no id"),
    "attributes of a message": ("SendMessage", attributed(10), attributed(11), "Message attributes: 11"),
    "delay of a message": ("SendMessage", message(1, DelaySeconds=900), message(1, DelaySeconds=901), "901"),
    "messages received": (
        "ReceiveMessage",
        {"QueueUrl": "q", "MaxNumberOfMessages": 10},
        {"QueueUrl": "q", "MaxNumberOfMessages": 11},
        "MaxNumberOfMessages: 11",
    ),
    "a long poll": (
        "ReceiveMessage",
        {"QueueUrl": "q", "WaitTimeSeconds": 20},
        {"QueueUrl": "q", "WaitTimeSeconds": 21},
        "WaitTimeSeconds: 21",
    ),
    "a visibility timeout": (
        "ChangeMessageVisibility",
        {"QueueUrl": "q", "VisibilityTimeout": 43_200},
        {"QueueUrl": "q", "VisibilityTimeout": 43_201},
        "VisibilityTimeout: 43201",
    ),
    "deletes of a batch": (
        "DeleteMessageBatch",
        {"QueueUrl": "q", "Entries": [{"Id": str(each)} for each in range(10)]},
        {"QueueUrl": "q", "Entries": [{"Id": str(each)} for each in range(11)]},
        "11 entries",
    ),
    "events of a request": ("PutEvents", events(10), events(11), "11 entries"),
    "bytes of events": ("PutEvents", events(1, 262_143), events(1, 262_144), "262,144"),
    "bytes of an asynchronous invocation": (
        "Invoke",
        {"FunctionName": "f", "InvocationType": "Event", "Payload": b"x" * 262_144},
        {"FunctionName": "f", "InvocationType": "Event", "Payload": b"x" * 262_145},
        "262,145",
    ),
    "bytes of an invocation": (
        "Invoke",
        {"FunctionName": "f", "Payload": b"x" * 6_291_456},
        {"FunctionName": "f", "Payload": b"x" * 6_291_457},
        "6,291,457",
    ),
    "bytes of a task's output": (
        "SendTaskSuccess",
        {"taskToken": "t", "output": "é" * 131_072},
        {"taskToken": "t", "output": "é" * 131_073},
        "262,146",
    ),
    "a task's cause": (
        "SendTaskFailure",
        {"taskToken": "t", "cause": "x" * 32_768},
        {"taskToken": "t", "cause": "x" * 32_769},
        "32,769",
    ),
}
# what is refused: (operation, request, a part of the reason); PASSES has what is near
REFUSED = {
    "a reserved name": ("UpdateItem", update("SET state = :v", V), "reserved keyword: state"),
    "a reserved name in small letters": ("PutItem", condition("attribute_exists(size)"), "keyword: size"),
    "a reserved name in a path": ("UpdateItem", update("SET a.status = :v", V), "keyword: status"),
    "an unused value": ("UpdateItem", update("SET a = :v", V | {":w": text("")}), "unused in expressions"),
    "an unused name": ("UpdateItem", update("SET a = :v", V, {"#b": "b"}), "unused in expressions"),
    "an undefined value": ("UpdateItem", update("SET a = :v, b = :w", V), "not defined: :w"),
    "an undefined name": ("UpdateItem", update("SET #a = :v", V), "not defined: #a"),
    "no values": ("UpdateItem", update("REMOVE a", {}), "must not be empty"),
    "a value's name without a colon": ("UpdateItem", update("SET a = :v", {"v": text("")}), "invalid key"),
    "an attribute twice": ("UpdateItem", update("SET a = :v REMOVE a", V), "overlap"),
    "an attribute and its part": ("UpdateItem", update("SET a = :v, a.b = :v", V), "overlap"),
    "one attribute by two names": ("UpdateItem", update("SET #a = :v, a = :v", V, {"#a": "a"}), "overlap"),
    "a clause twice": ("UpdateItem", update("SET a = :v SET b = :v", V), "only be used once"),
    "an addition of a text": ("UpdateItem", update("ADD a :v", V), "operand type for ADD"),
    "a deletion of a number": ("UpdateItem", update("DELETE a :n", ONE), "operand type for DELETE"),
    "a change of the key": ("UpdateItem", update("SET sk = :v", V), "part of the key"),
    "an empty expression": ("UpdateItem", update(""), "can not be empty"),
    "an unknown clause": ("UpdateItem", update("PUT a = :v", V), "Syntax error"),
    "a condition without an operator": ("PutItem", condition("a"), "Syntax error"),
    "an unclosed group": ("PutItem", condition("(a = :v", V), "Syntax error"),
    "two conditions side by side": ("PutItem", condition("a = :v b = :v", V), "Syntax error"),
    "redundant parentheses": ("PutItem", condition("((a = :v)) AND b = :v", V), "redundant"),
    "an unknown character": ("PutItem", condition("a = 'x'"), "Syntax error"),
    "an argument too many": ("PutItem", condition("attribute_exists(a, b)"), "number of operands"),
    "a function of updates": ("PutItem", condition("if_not_exists(a, :v) = :v", V), "not allowed here"),
    "an empty key": ("GetItem", get(pk=""), "key attribute pk is empty"),
    "an empty key of an index": ("PutItem", put({"ix": text("")}), "key attribute ix is empty"),
    "a key of another type": (
        "GetItem",
        {"TableName": "Things", "Key": key() | {"sk": {"N": "1"}}},
        "S expected",
    ),
    "an index's key of another type": ("PutItem", put({"at": text("1")}), "N expected"),
    "half a key": ("GetItem", {"TableName": "Things", "Key": {"pk": text("p")}}, "the key is pk, sk"),
    "an empty key of an unknown table": (
        "GetItem",
        {"TableName": "Else", "Key": {"pk": text("")}},
        "is empty",
    ),
    "a value of two types": ("PutItem", put({"a": {"S": "x", "N": "1"}}), "exactly one"),
    "a number that is none": ("PutItem", put({"a": {"N": "x"}}), "numeric"),
    "an empty set": ("PutItem", put({"a": {"SS": []}}), "may not be empty"),
    "a set with a repetition": ("PutItem", put({"a": {"NS": ["1", "1.0"]}}), "duplicates"),
    "a false null": ("PutItem", put({"a": {"NULL": False}}), "must be true"),
    "a nested empty name of a type": ("PutItem", put({"a": {"M": {"b": {"X": 1}}}}), "not a type"),
    "an item twice in a transaction": (
        "TransactWriteItems",
        {"TransactItems": [{"Put": put()}, {"Delete": get()}]},
        "multiple operations on one item",
    ),
    "a transaction of nothing": ("TransactWriteItems", {"TransactItems": []}, "at least one"),
    "a check without a condition": (
        "TransactWriteItems",
        {"TransactItems": [{"ConditionCheck": get()}]},
        "needs",
    ),
    "a key twice in a batch of reads": (
        "BatchGetItem",
        {"RequestItems": {"Things": {"Keys": [key(), key()]}}},
        "duplicates",
    ),
    "an item twice in a batch of writes": (
        "BatchWriteItem",
        {"RequestItems": {"Things": [{"PutRequest": {"Item": key()}}, {"DeleteRequest": {"Key": key()}}]}},
        "duplicates",
    ),
    "a consistent read of a global index": (
        "Query",
        query("ix = :v", V, IndexName="global", ConsistentRead=True),
        "global secondary indexes",
    ),
    "a query without its partition": ("Query", query("sk = :v", V), "missed key schema element: pk"),
    "a query of a range of partitions": ("Query", query("pk > :v", V), "missed key schema element: pk"),
    "a query by OR": ("Query", query("pk = :v OR sk = :v", V), "only AND"),
    "a query by another attribute": ("Query", query("pk = :v AND another = :v", V), "not supported"),
    "a query by inequality": ("Query", query("pk = :v AND sk <> :v", V), "not supported"),
    "a filter by the key": ("Query", query("pk = :v", V, FilterExpression="sk = :v"), "non-primary key"),
    "a projection of a part twice": (
        "GetItem",
        get() | {"ProjectionExpression": "a.b, a"},
        "overlap",
    ),
    "an empty message": ("SendMessage", message(0), "empty"),
    "a character outside XML": ("SendMessage", {"QueueUrl": "q", "MessageBody": "\x00"}, "character"),
    "two entries of one id": ("SendMessageBatch", messages(2, 1, "a"), "one id"),
    "an entry's id with a dot": ("SendMessageBatch", messages(1, 1, "a.b"), "no id"),
    "a batch of no messages": ("SendMessageBatch", messages(0), "no entries"),
    "an event without details": (
        "PutEvents",
        {"Entries": [{"Source": "s", "DetailType": "d", "Detail": ""}]},
        "Detail",
    ),
    "an event whose details are a list": (
        "PutEvents",
        {"Entries": [{"Source": "s", "DetailType": "d", "Detail": "[]"}]},
        "no JSON object",
    ),
}
PASSES = {
    "a reserved name behind a placeholder": ("UpdateItem", update("SET #s = :v", V, {"#s": "state"})),
    "one name in two expressions": (
        "UpdateItem",
        update("SET #a = :v", V, {"#a": "a"}, ConditionExpression="#a <> :v"),
    ),
    "parts of one attribute": ("UpdateItem", update("SET a.b = :v, a.c = :v, a.l[0] = :v, a.l[1] = :v", V)),
    "all clauses": (
        "UpdateItem",
        update("SET a = :v REMOVE b ADD c :n DELETE d :s", V | ONE | {":s": {"SS": ["x"]}}),
    ),
    "functions": (
        "UpdateItem",
        update("SET a = if_not_exists(a, :n) + :n, b = list_append(b, :l)", ONE | {":l": {"L": []}}),
    ),
    "a group in a group": ("PutItem", condition("((a = :v) AND (b = :v))", V)),
    "a group beside a group": ("PutItem", condition("(a = :v) AND (NOT (b = :v OR size(c) > :v))", V)),
    "a range": ("PutItem", condition("a BETWEEN :v AND :v AND begins_with(b, :v)", V)),
    "an empty text": ("PutItem", put({"a": text("")})),
    "a query of a range": ("Query", query("pk = :v AND sk BETWEEN :v AND :v", V)),
    "a query by its prefix": ("Query", query("pk = :v AND begins_with(sk, :v)", V)),
    "a consistent read of a local index": (
        "Query",
        query("pk = :v", V, IndexName="local", ConsistentRead=True),
    ),
    "a scan that filters by the key": (
        "Scan",
        {"TableName": "Things", "FilterExpression": "sk = :v", "ExpressionAttributeValues": V},
    ),
    "numbers in a set": ("PutItem", put({"a": {"NS": ["1", "2"]}})),
    "bytes": ("PutItem", put({"a": {"B": b"\x00"}, "b": {"BS": [b"a", b"b"]}})),
    "bytes in base64": ("PutItem", put({"a": {"B": "AAAA"}})),
    "a request without rules": ("ListTables", {}),
    "many values": ("PutItem", condition(" OR ".join(f"a = :v{n}" for n in range(150)), numbered(150))),
}


@pytest.mark.parametrize("what", LIMITS)
def test_a_request_at_the_limit_passes_and_one_beyond_it_is_refused(what):
    operation, passes, refused, reason = LIMITS[what]

    check(operation, passes, tables())

    with pytest.raises(Refused, match=reason.replace("(", r"\(")) as found:
        check(operation, refused, tables())
    assert found.value.page, "a limit names the page that has it"


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_request_is_refused(what):
    operation, refused, reason = REFUSED[what]

    with pytest.raises(Refused, match=reason):
        check(operation, refused, tables())


@pytest.mark.parametrize("what", PASSES)
def test_a_right_request_passes(what):
    operation, passes = PASSES[what]

    check(operation, passes, tables())
