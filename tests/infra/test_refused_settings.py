"""Settings that are refused at synthesis, with the sentence that names what would be right."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fanin_cdk.settings.config import ConfigError
from infra.config import StackConfig
from tests.infra.options import ARN, SECRET

WRONG: dict[str, list[Any]] = {
    "stage": ["Prod", "1st", "x" * 21],
    "target": ["azure"],
    "archive": ["yes", 1],
    "archive_days": [0, 3651, "many"],
    "python_version": ["3.9", 3.14],
    "page_bits": [1, 1025, "1e3", 64.5, True],
    "protect_data": ["True"],
    "max_request_units": [-1],
    "warm_throughput": [4000],
    "lambda_concurrency": [9],
    "consumer_concurrency": [1, 1001],
    "domain_name": ["Fanin.example.com", "https://fanin.example.com", "fanin", "*.example.com"],
    "certificate_arn": ["0f6b4b6a", "arn:aws:acm:eu-west-1:123456789012:certificate/*"],
    "throttle_rate": [-1, 10_001],
    "throttle_burst": [5_001],
    "quota_open_batches": [-1, 1_000_001],
    "quota_adds": [10_001],
    "quota_tasks": ["many"],
    "quota_jobs": [1.5],
    "log_retention_days": [15],
    "jwt_issuer": ["http://plain.example.com"],
    "jwt_audience": [7],
    "jwt_tenant_claim": [""],
    "jwt_caller_claim": ["two parts"],
    "acks_log": ["logs/acks", "s3://logs", "s3://logs/*"],
    "acks_tenant": ["a#b", "x" * 256],
    "alarm_email": ["no address"],
    "oldest_batch_alarm_hours": [0],
    "analytics": ["spark", True],
    "analytics_workers": [1, 300],
    "analytics_schedule": [
        "15 2 * * *",
        "cron(15 2 * * *)",
        "rate(1 day)",
        "cron(15 2 * * * *)",
        "cron(15 2 ? * ? *)",
        "cron(a b c d e f)",
    ],
    "dead_letter_queue_arns": [7, [7]],
}
"""Values of a setting alone."""


@pytest.mark.parametrize(("name", "value"), [(name, each) for name in WRONG for each in WRONG[name]])
def test_a_wrong_value_is_named_with_what_would_be_right(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} is {re.escape(repr(value))}; it takes ."):
        StackConfig.from_context({name: value})


ONE, TWO = f"{ARN}orders-dead", f"{ARN}mails.fifo"
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:waits"
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:waits"
TABLE = "arn:aws:dynamodb:eu-west-1:123456789012:table/"
STREAM = "/stream/2026-11-22T09:00:00.000"
PAGES, BATCHES = f"pages={TABLE}new", f"batches={TABLE}new{STREAM}"
HERE = {"name": "here", "url": "http://127.0.0.1:8080/", "secret": SECRET}
KEPT = {"protect_data": True}
LAKE = {"source": "s3://lake/", "queue": f"{ARN}work"}
SEVERAL: dict[str, list[dict[str, Any]]] = {
    r"^warm_throughput is .* it takes KIND=READS/WRITES": [
        {"warm_throughput": "pages"},
        {"warm_throughput": "pages=12000"},
        {"warm_throughput": "pages=12000/3999"},
        {"warm_throughput": "pages=11999/4000"},
        {"warm_throughput": "pages=12000/1000001"},
        {"warm_throughput": "items=12000/4000"},
        {"warm_throughput": "pages=12000/4000,pages=12000/8000"},
    ],
    "^warm_throughput names pages, which restored_tables replaces": [
        {**KEPT, "restored_tables": PAGES, "warm_throughput": "pages=12000/8000"}
    ],
    "^dead_letter_queue_arns is .*; it takes ARNs of different SQS": [
        {"dead_letter_queue_arns": "orders-dead"},
        {"dead_letter_queue_arns": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders-dead"},
        {"dead_letter_queue_arns": "arn:aws:sns:eu-west-1:123456789012:orders-dead"},
        {"dead_letter_queue_arns": f"{ARN}*"},
        {"dead_letter_queue_arns": f"{ONE},{ONE}"},
        {"dead_letter_queue_arns": f"{ONE},{ONE}=acme"},
        {"dead_letter_queue_arns": f"{ONE},{TWO.replace('eu-west-1', 'us-east-1')}"},
        {"dead_letter_queue_arns": f"{ONE}=acme,{ONE}=umbrella"},
        {"dead_letter_queue_arns": f"{ONE}="},
        {"dead_letter_queue_arns": f"{ONE}=a#b"},
    ],
    "^analytics_queue_arns is .*; it takes ARNs of different": [{"analytics_queue_arns": "work"}],
    "^analytics_bucket_arns is .*; it takes ARNs of different": [
        {"analytics_bucket_arns": "datasets"},
        {"analytics_bucket_arns": "arn:aws:s3:::*"},
        {"analytics_bucket_arns": "arn:aws:s3:::datasets/2026"},
        {"analytics_bucket_arns": "arn:aws:s3:::datasets,arn:aws:s3:::datasets"},
    ],
    "resumed_state_machines": [
        {"resumed_state_machines": "*"},
        {"resumed_state_machines": MACHINE.replace("waits", "*")},
        {"resumed_state_machines": MACHINE.replace("stateMachine", "activity")},
        {"resumed_state_machines": f"{MACHINE},{MACHINE}"},
        {"resumed_state_machines": f"{MACHINE},{MACHINE.replace('eu-west-1', 'us-east-1')}"},
    ],
    "resumed_durable_functions": [
        {"resumed_durable_functions": f"{FUNCTION}:live"},
        {"resumed_durable_functions": FUNCTION.replace("waits", "*")},
        {"resumed_durable_functions": MACHINE},
    ],
    "go together": [{"jwt_issuer": "https://a.example"}, {"jwt_audience": "b"}],
    "alarm_email needs alarms: set monitoring to lean or full": [
        {"monitoring": "off", "alarm_email": "ops@example.com"}
    ],
    "analytics runs on AWS only": [{"analytics": "glue", "target": "local"}],
    "keep_dead_letter_messages needs dead_letter_queue_arns": [{"keep_dead_letter_messages": True}],
    r"stages\.prod has unknown settings: protect_date": [
        {"stage": "prod", "stages": {"prod": {"protect_date": True}}}
    ],
    r"stages\.prod is not an object": [
        {"stage": "prod", "stages": {"prod": "yes"}},
        {"stage": "prod", "stages": ["prod"]},
    ],
    "^events": [
        {"events": "TaskFailed"},
        {"events": "JobDead,JobDead"},
        {"events": "TaskSucceeded", "grouper": False},
        {"events": "BundleFailed", "grouper": False},
    ],
    "restored_tables needs protect_data": [{"restored_tables": PAGES}],
    "no stream of batches": [{**KEPT, "restored_tables": f"batches={TABLE}new"}],
    "no stream of pages, jobs": [
        {**KEPT, "archive": True, "restored_tables": f"{BATCHES},{PAGES},jobs={TABLE}jobs"}
    ],
    "KIND=ARN": [{**KEPT, "restored_tables": "pages=new-pages"}],
    "KIND is one of batches": [{**KEPT, "restored_tables": f"rows={TABLE}new"}],
    "different tables": [{**KEPT, "restored_tables": f"{PAGES},pages={TABLE}other"}],
    "restored_tables names tasks, which needs grouper": [
        {**KEPT, "grouper": False, "restored_tables": f"tasks={TABLE}new,{PAGES}"}
    ],
    "restored_tables names jobs, which needs queues": [
        {**KEPT, "queues": False, "restored_tables": f"jobs={TABLE}new"}
    ],
    "callbacks is .*; it takes a JSON list": [{"callbacks": "x"}, {"callbacks": "{}"}],
    "it takes a JSON list of objects that each have a name": [{"callbacks": '[{"queue": "a"}]'}],
    "callbacks, entry 1: queue is 'a'": [{"callbacks": '[{"name": "a", "queue": "a"}]'}],
    "callbacks, entry 1: http://127.0.0.1:8080/ is on this machine": [{"callbacks": json.dumps([HERE])}],
    "publications is .*; it takes a JSON list": [{"publications": "x"}, {"publications": '[{"queue": "a"}]'}],
    "publications, entry 1: source is 's3://": [
        {"publications": [LAKE | {"source": each}]} for each in ("s3://Lake/", "s3://lake/i?/", "s3://lake/*")
    ],
    "publications, entry 1: queue is": [
        {"publications": [{"source": "s3://lake/", "queue": each}]} for each in ("work", f"{ARN}work.fifo")
    ],
    "publications, entry 1: unknown setting of a publication: group": [
        {"publications": [LAKE | {"group": "a"}]}
    ],
    "publications, entry 1: chunk and rate are of an entry with onCreated": [
        {"publications": [LAKE | {"rate": 1}]}
    ],
    "publications, entry 1: .*(tenant|onCreated|chunk|rate)": [
        {"publications": [LAKE | {"onCreated": True} | each]}
        for each in (
            {"onCreated": "yes"},
            {"tenants": []},
            {"tenants": ["a", "b"]},
            {"chunk": 0},
            {"chunk": "9"},
            {"rate": 0.5},
        )
    ],
    "an object that is created in s3://lake/in/ would be sent to .* twice": [
        {"publications": [LAKE | {"onCreated": True}, LAKE | {"onCreated": True, "source": "s3://lake/in/"}]}
    ],
    "^grouper_policies is ": [
        {"grouper_policies": each}
        for each in ([{"maxSize": 5}], ["orders-*"], {"pattern": "*"}, "", "{}", "[1]", "orders-*")
    ],
    "^grouper_policies, entry 2: unknown setting of a target: maxsize": [
        {"grouper_policies": [{"pattern": "a"}, {"pattern": "b", "maxsize": 5}]}
    ],
    "^grouper_policies, entry 2: maxSize ": [
        {"grouper_policies": [{"pattern": "a"}, {"pattern": "b", "maxSize": 0}]}
    ],
    "entry 1: each batch API needs either a url or a function": [{"grouper_downstream": [{"pattern": "b"}]}],
    "entry 1: the url of a batch API must be an http": [
        {"grouper_downstream": [{"pattern": "b", "url": "ftp://x"}]}
    ],
    "timeoutSeconds is 31; it must be more than 0 and at most 30, half": [
        {"grouper_downstream": [{"pattern": "*", "url": "https://a", "timeoutSeconds": 31}]}
    ],
    "needs a / between two fields": [{"grouper_target": "{a}{b}"}],
}
"""Settings, alone or together, by the sentence with which they are refused."""


@pytest.mark.parametrize(
    ("sentence", "context"), [(sentence, each) for sentence in SEVERAL for each in SEVERAL[sentence]]
)
def test_settings_that_could_not_be_deployed_are_refused_with_a_sentence(
    sentence: str, context: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        StackConfig.from_context(context)
