from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.infra.conftest import DURABLE_FUNCTION, STATE_MACHINE
from tests.infra.options import PROD, SECRET
from tests.infra.synthesis import handler_of, synthesised

X_RAY = frozenset({"xray:PutTelemetryRecords", "xray:PutTraceSegments"})
WRITE_LOG = frozenset({"logs:CreateLogStream", "logs:PutLogEvents"})
QUEUE_EATER = {
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
}
READ_PAGES = {"dynamodb:BatchGetItem"}
CHANGE_PAGES = {"dynamodb:BatchGetItem", "dynamodb:UpdateItem"}
LOOK = {"dynamodb:GetItem", "dynamodb:UpdateItem"}
CHANGE = LOOK | {"dynamodb:PutItem"}
DELETE = LOOK | {"dynamodb:BatchWriteItem"}
QUERY = {"dynamodb:Query"}
PUT_EVENTS = {"events:PutEvents"}
ACK = {"TablesBatches": CHANGE, "TablesPages": CHANGE_PAGES, "EventsBus": PUT_EVENTS}
SEND = {"sqs:SendMessage"}
GIVE_UP = SEND | {"sqs:GetQueueAttributes", "sqs:GetQueueUrl"}
READ_STREAM = {
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
}
FIND, CREATE = {"sqs:GetQueueUrl"}, {"sqs:CreateQueue", "sqs:TagQueue"}
UPDATE = {"sqs:GetQueueAttributes", "sqs:SetQueueAttributes", "sqs:TagQueue"}
DOORBELLS = "arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:fanin-dev_bell_*"
OWN_DOORBELLS = [DOORBELLS.replace("*", f"{kind}-*") for kind in ("queue", "tenant")]
BUNDLE = {
    "GrouperTablesTasks": LOOK | {"dynamodb:BatchGetItem"},
    "GrouperTablesLeases": LOOK,
    "GrouperTablesBundles": LOOK,
    "GrouperTaskMessagesQueue": SEND,
    "GrouperBundleMessagesQueue": SEND,
}
LAKE = "arn:<AWS::Partition>:s3:::lake/in/*"
SOURCES = ["arn:aws:sqs:eu-west-1:123456789012:mails", "arn:aws:sqs:eu-west-1:123456789012:work"]
BUCKET = LAKE.removesuffix("/in/*")
READ_LAKE = {LAKE: {"s3:GetObject"}, BUCKET: {"s3:ListBucket"}}
# handler: what it may do, by the beginning of the resource's logical id; its own log and X-Ray apart.
EXECUTIONS = f"{DURABLE_FUNCTION}:*"
END_CALLBACKS = {f"lambda:SendDurableExecutionCallback{how}" for how in ("Failure", "Success")}
GRANTED: dict[str, dict[str, set[str]]] = {
    "open_batch": {"TablesBatches": CHANGE, "TablesPages": READ_PAGES},
    "list_batches": {"TablesBatches/index/byTenant": QUERY, "TablesBatches/index/byUser": QUERY},
    "get_batch": {"TablesBatches": LOOK, "TablesPages": READ_PAGES},
    "create_progress_token": {"TablesBatches": LOOK},
    "get_progress": {"TablesBatches": {"dynamodb:GetItem"}, "TablesPages": READ_PAGES},
    "add_items": {"TablesBatches": CHANGE},
    "close_batch": ACK,
    "cancel_batch": ACK | {"TablesBatches": CHANGE | QUERY},
    "notify_batch": {"TablesBatches": CHANGE},
    "get_outstanding": {"TablesBatches": LOOK | QUERY, "TablesPages": READ_PAGES},
    "get_failures": {"TablesBatches": LOOK | QUERY, "TablesPages": READ_PAGES},
    "reopen_batch": ACK,
    "get_children": {"TablesBatches": LOOK | QUERY},
    "get_health": {"TablesBatches": {"dynamodb:GetItem"}},
    "get_origin": {"TablesBatches": LOOK | QUERY, "TablesPages": READ_PAGES},
    "end_batch": ACK,
    "delete_batch": {"TablesBatches": DELETE},
    "delete_batches": {"TablesBatches": DELETE, "TablesBatches/index/byTenant": QUERY},
    "ack_items": ACK,
    "consume_acks": ACK | {"AcksQueue": QUEUE_EATER, "AcksDeadLetters": SEND},
    "fail_dead_letter_messages": ACK,
    "sweep": ACK
    | {"TablesBatches": CHANGE | QUERY}
    | {"TablesBatches/index/due": QUERY, "TablesBatches/index/live": QUERY},
    "publish_endings": {
        "TablesBatches": {"dynamodb:GetItem"} | QUERY | READ_STREAM,
        "TablesPages": READ_PAGES,
        "EventsBus": PUT_EVENTS,
        "EventsDeadLetters": GIVE_UP,
    },
    "call_webhook": {
        "CallbacksWebhooksshopQueue": QUEUE_EATER,
        "CallbacksWebhooksDeadLetters": SEND,
        SECRET: {"secretsmanager:GetSecretValue"},
    },
    "resume_task": {
        "TablesBatches": {"dynamodb:GetItem", "dynamodb:DeleteItem"},
        "ResumingEventsQueue": QUEUE_EATER,
        STATE_MACHINE: {"states:SendTaskFailure", "states:SendTaskSuccess"},
        EXECUTIONS: END_CALLBACKS,
    },
    "start_publication": {
        "TablesBatches": CHANGE,
        "TablesPages": READ_PAGES,
        "PublicationsPartsQueue": SEND,
        BUCKET: {"s3:ListBucket"},
    },
    "get_publication": {"TablesBatches": LOOK},
    "continue_publication": ACK
    | READ_LAKE
    | {"PublicationsPartsQueue": QUEUE_EATER | SEND}
    | dict.fromkeys(SOURCES, FIND | SEND),
    "confirm_event": ACK | {"ConfirmationDeadLetters": GIVE_UP},
    "register_task": {
        "TablesBatches": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "GrouperTablesTasks": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "GrouperTaskMessagesQueue": SEND,
    },
    "list_tasks": {
        "GrouperTablesTasks": READ_PAGES,
        "GrouperTablesTasks/index/open": QUERY,
        "GrouperTablesBundles": {"dynamodb:GetItem"},
        "GrouperTablesBundles/index/lane": QUERY,
    },
    "list_targets": {
        "GrouperTablesTasks/index/open": QUERY,
        "GrouperTablesLeases": {"dynamodb:GetItem"},
        "GrouperTablesLeases/index/targets": QUERY,
        "GrouperTablesBundles": {"dynamodb:GetItem"},
        "GrouperTablesBundles/index/lane": QUERY,
    },
    "consume_tasks": {
        "GrouperTablesTasks": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "GrouperTaskMessagesQueue": SEND,
        "GrouperRegistrationsQueue": QUEUE_EATER,
        "GrouperRegistrationsDeadLetters": SEND,
    },
    "get_task": {"GrouperTablesTasks": {"dynamodb:GetItem"}, "GrouperTablesBundles": {"dynamodb:GetItem"}},
    "list_bundles": {"GrouperTablesBundles": {"dynamodb:GetItem"}, "GrouperTablesBundles/index/lane": QUERY},
    "get_bundle": {"GrouperTablesBundles": {"dynamodb:GetItem"}},
    "lead_tasks": BUNDLE
    | {"GrouperTablesTasks/index/open": QUERY, "GrouperTaskMessagesQueue": QUEUE_EATER | SEND},
    "handle_bundle": ACK | BUNDLE | {"GrouperBundleMessagesQueue": QUEUE_EATER | SEND},
    "sweep_groups": {
        "GrouperTablesTasks/index/open": {"dynamodb:Scan"},
        "GrouperTablesBundles": LOOK,
        "GrouperTablesBundles/index/live": QUERY,
        "GrouperTaskMessagesQueue": SEND,
        "GrouperBundleMessagesQueue": SEND,
    },
    "add_jobs": {
        "TablesBatches": {"dynamodb:GetItem", "dynamodb:PutItem"},
        "JobsTable": CHANGE | {"dynamodb:ConditionCheckItem"},
        DOORBELLS: FIND | SEND,
        **dict.fromkeys(OWN_DOORBELLS, CREATE),
    },
    "put_queue": {"JobsTable": CHANGE, DOORBELLS: FIND, **dict.fromkeys(OWN_DOORBELLS, CREATE | UPDATE)},
    "list_jobs": {
        "JobsTable": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "JobsTable/index/by_ix": QUERY,
    },
    "list_queues": {
        "JobsTable": {"dynamodb:BatchGetItem", "dynamodb:GetItem"},
        "JobsTable/index/by_ix": QUERY,
        "JobsTable/index/by_tenant": QUERY,
    },
    "get_queue": {"JobsTable": {"dynamodb:GetItem"}, "JobsTable/index/by_ix": QUERY},
    "list_sessions": {"JobsTable": {"dynamodb:GetItem"} | QUERY},
    "pause_queue": {"JobsTable": {"dynamodb:GetItem", "dynamodb:UpdateItem"}},
    "resume_queue": {
        "JobsTable": CHANGE,
        "JobsTable/index/by_ix": QUERY,
        DOORBELLS: FIND | SEND,
        **dict.fromkeys(OWN_DOORBELLS, CREATE),
    },
    "revive_jobs": {
        "JobsTable": CHANGE | {"dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem"},
        "JobsTable/index/by_ix": QUERY,
        DOORBELLS: FIND | SEND,
        **dict.fromkeys(OWN_DOORBELLS, CREATE),
    },
    "delete_jobs": {"JobsTable": CHANGE | {"dynamodb:BatchGetItem", "dynamodb:DeleteItem"}},
    "remove_queue": {
        "JobsTable": {"dynamodb:GetItem", "dynamodb:UpdateItem"},
        "JobsTable/index/by_ix": QUERY,
    },
    "sweep_jobs": ACK
    | {
        "JobsTable": CHANGE | QUERY | {"dynamodb:BatchGetItem", "dynamodb:DeleteItem"},
        "JobsTable/index/by_ix": QUERY,
        "JobsTable/index/queues": QUERY,
        DOORBELLS: FIND | SEND,
        **dict.fromkeys(OWN_DOORBELLS, CREATE | UPDATE | {"sqs:DeleteQueue"}),
    },
}

# function: the handlers that it calls, by the route of the request.
SERVED = {
    "api.read_batches": (
        "list_batches",
        "get_batch",
        "get_outstanding",
        "get_failures",
        "get_children",
        "get_origin",
        "get_health",
        "get_publication",
        "create_progress_token",
    ),
    "api.watch_batches": ("get_progress",),
    "api.write_batches": (
        "open_batch",
        "add_items",
        "close_batch",
        "cancel_batch",
        "notify_batch",
        "reopen_batch",
        "ack_items",
        "start_publication",
    ),
    "api.administer_batches": ("end_batch", "delete_batch", "delete_batches"),
    "api.read_tasks": ("list_tasks", "get_task", "list_bundles", "get_bundle", "list_targets"),
    "api.write_tasks": ("register_task",),
    "api.read_queues": ("list_jobs", "list_queues", "get_queue", "list_sessions"),
    "api.write_queues": ("add_jobs", "put_queue", "pause_queue", "resume_queue"),
    "api.administer_queues": ("revive_jobs", "delete_jobs", "remove_queue"),
}


def granted_to(handlers: Iterable[str]) -> dict[str, set[str]]:
    """What a function of *handlers* may do: what any of them needs."""
    granted: dict[str, set[str]] = {}
    for handler in handlers:
        for resource, actions in GRANTED[handler].items():
            granted[resource] = granted.get(resource, set()) | actions
    return granted


ALONE = GRANTED.keys() - {handler for handlers in SERVED.values() for handler in handlers}
FUNCTIONS = {name: GRANTED[name] for name in sorted(ALONE)} | {
    name: granted_to(handlers) for name, handlers in SERVED.items()
}


@pytest.fixture(scope="module")
def functions(full):
    """The functions by the name of their handler."""
    return {handler_of(each): each["Properties"] for each in full.of_type("AWS::Lambda::Function").values()}


def listed(value):
    return value if isinstance(value, list) else [value]


def grants_of(assembly, role):
    """(actions, resource) of every statement of the policies on *role*."""
    return [
        (frozenset(listed(statement["Action"])), resource)
        for policy in assembly.of_type("AWS::IAM::Policy").values()
        if {"Ref": role} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for resource in listed(statement["Resource"])
    ]


def target_of(resource):
    """A statement's resource: a text, a logical id, or that with a path; references in angle brackets."""
    if isinstance(resource, str):
        return resource
    if "Fn::Join" in resource:
        return "".join(target_of(part) for part in resource["Fn::Join"][1])
    return f"<{resource['Ref']}>" if "Ref" in resource else resource["Fn::GetAtt"][0]


def role_of(function):
    return function["Role"]["Fn::GetAtt"][0]


def logical_id(
    assembly, beginning, kinds=("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::Events::EventBus")
):
    (found,) = (
        name
        for name, each in assembly.template["Resources"].items()
        if name.startswith(beginning) and each["Type"] in kinds
    )
    return found


def test_the_handlers_are_these(functions):
    assert functions.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("handler", FUNCTIONS)
def test_a_function_may_do_what_its_handler_needs_and_no_more(full, functions, handler):
    construct = "Functions" + "".join(part.capitalize() for part in re.split(r"[._]", handler))
    own_log = logical_id(full, f"{construct}Logs", kinds=("AWS::Logs::LogGroup",))
    expected = {
        name
        if name in {DOORBELLS, *OWN_DOORBELLS, STATE_MACHINE, EXECUTIONS, SECRET, *READ_LAKE, *SOURCES}
        else logical_id(full, owner) + slash + path: set(actions)
        for name, actions in FUNCTIONS[handler].items()
        for owner, slash, path in [name.partition("/")]
    }
    granted: dict[str, list[str]] = {}
    for actions, resource in grants_of(full, role_of(functions[handler])):
        granted.setdefault(target_of(resource), []).extend(actions)

    assert {target: set(actions) for target, actions in granted.items()} == {
        **expected,
        own_log: set(WRITE_LOG),
    }
    assert all(len(actions) == len(set(actions)) for actions in granted.values())


def test_only_the_keys_of_the_setting_are_listed_so_that_an_object_that_is_missing_is_no_refusal():
    statements = [
        statement
        for policy in synthesised(**PROD).of_type("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "s3:ListBucket"
    ]

    assert {
        target_of(each["Resource"]): each["Condition"]["StringLike"]["s3:prefix"] for each in statements
    } == {
        BUCKET: ["a/*", "b*"],
        BUCKET.replace("lake", "all"): ["*"],
    }


def test_every_function_has_a_role_of_its_own_that_only_lambda_may_take(full, functions):
    roles = {role_of(function) for function in functions.values()}
    properties = [full.template["Resources"][role]["Properties"] for role in roles]
    trust = [each["AssumeRolePolicyDocument"]["Statement"] for each in properties]
    trusted = [statement["Principal"] for statements in trust for statement in statements]

    assert len(roles) == len(functions)
    assert not [each for each in properties if "ManagedPolicyArns" in each or "Policies" in each]
    assert trusted == [{"Service": "lambda.amazonaws.com"}] * len(functions)


def test_no_policy_has_a_star_but_those_for_x_ray_and_for_the_doorbells_by_their_prefix(full):
    assert starred(full) == {
        (frozenset(FIND | SEND), DOORBELLS): 3,
        (frozenset({"s3:GetObject"}), LAKE): 1,
        (frozenset(END_CALLBACKS), EXECUTIONS): 1,
        **{(frozenset(CREATE), own): 1 for own in OWN_DOORBELLS},
        **{(frozenset(CREATE | UPDATE), own): 1 for own in OWN_DOORBELLS},
        **{(frozenset(CREATE | UPDATE | {"sqs:DeleteQueue"}), own): 1 for own in OWN_DOORBELLS},
    }
    traced = synthesised(monitoring="full")
    assert starred(traced)[X_RAY, "*"] == len(traced.of_type("AWS::Lambda::Function"))


def starred(assembly):
    """How many roles have each statement with a star."""
    return Counter(
        (actions, target_of(resource))
        for role in assembly.of_type("AWS::IAM::Role")
        for actions, resource in grants_of(assembly, role)
        if "*" in str(resource) or any("*" in action for action in actions)
    )


def test_the_runtime_and_the_page_size_are_configured(everything):
    older = synthesised(**PROD).of_type("AWS::Lambda::Function").values()
    smaller = everything.of_type("AWS::Lambda::Function").values()

    assert {each["Properties"]["Runtime"] for each in older} == {"python3.13"}
    assert {each["Properties"]["Environment"]["Variables"]["FANIN_PAGE_BITS"] for each in smaller} == {"2"}


def test_two_stages_of_one_account_do_not_count_together(default):
    prod = synthesised(**PROD)

    services = {
        each["Properties"]["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        for assembly in (default, prod)
        for each in assembly.of_type("AWS::Lambda::Function").values()
    }

    assert services == {"fanin-dev", "fanin-prod"}


@pytest.mark.parametrize(("settings", "days"), [({}, 14), (PROD, 90)])
def test_every_log_group_forgets(settings, days):
    groups = synthesised(**settings).of_type("AWS::Logs::LogGroup").values()

    assert {each["Properties"]["RetentionInDays"] for each in groups} == {days}
