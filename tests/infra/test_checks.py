"""The gates: cdk-nag, cfn-lint, and the template as it was last looked at."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.infra.synthesis import UNBUNDLED, scratch_folder, synthesised

ANALYTICS = {
    "archive": True,
    "analytics_queue_arns": "arn:aws:sqs:eu-west-1:123456789012:work",
    "analytics_bucket_arns": "arn:aws:s3:::datasets",
    "analytics_schedule": "cron(15 2 * * ? *)",
    "analytics_workers": 7,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "dev": {},
    "demo": {"demo": True},
    "glue": {"analytics": "glue", **ANALYTICS},
    "emr": {"analytics": "emr", **ANALYTICS},
    "prod": {
        "stage": "prod",
        "jwt_issuer": "https://issuer.example.com/",
        "jwt_audience": "fanin",
        "alarm_email": "ops@example.com",
        "max_request_units": 4000,
        "dead_letter_queue_arns": (
            "arn:aws:sqs:eu-west-1:123456789012:orders-dead,"
            "arn:aws:sqs:eu-west-1:123456789012:mails-dead.fifo"
        ),
    },
}
# A function waits for its role by name and by reference; the CDK says so twice, which is harmless.
ACCEPTED = {"W3005"}


def nothing(_stack):
    """Leave the stack as it is."""


def findings(settings, *, spoil=nothing):
    """(rule, construct) of every warning of cdk-nag that is not accepted; an error ends the synthesis."""
    from infra.app import build, check

    folder = scratch_folder()
    app, stack = build({**UNBUNDLED, **settings}, outdir=str(folder))
    spoil(stack)
    check(app)
    app.synth()
    report = json.loads((folder / "validation-report.json").read_text())
    return [
        (violation["ruleName"], construct["constructPath"])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    ]


@pytest.mark.parametrize("variant", ["glue", "emr", "demo", "prod"])
def test_cdk_nag_finds_nothing(variant):
    # With a raised quota: the stack's own warning is in the same report.
    assert findings({"lambda_concurrency": 1000, **VARIANTS[variant]}) == []


def test_cdk_nag_would_stop_a_queue_that_takes_plain_http_and_loses_messages():
    def careless(stack):
        from aws_cdk import aws_sqs as sqs

        sqs.Queue(stack, "Careless")

    with pytest.raises(RuntimeError, match=r"Careless[\s\S]*AwsSolutions-SQS3[\s\S]*AwsSolutions-SQS4"):
        findings({}, spoil=careless)


@pytest.mark.parametrize("variant", VARIANTS)
def test_cfn_lint_finds_nothing(variant):
    # Here, for it takes seconds to load, which the collection of other tests need not wait for.
    from cfnlint import api as cfn_lint

    text = json.dumps(synthesised(**VARIANTS[variant]).template)

    found = cfn_lint.lint(text, regions=["us-east-1"])

    assert [str(each) for each in found if each.rule.id not in ACCEPTED] == []


def test_the_template_is_the_one_last_looked_at(snapshot: SnapshotAssertion):
    text = json.dumps(synthesised(demo=True).template)
    masked = json.loads(re.sub(r"[0-9a-f]{64}", "<asset>", text))

    assert masked == snapshot.use_extension(JSONSnapshotExtension)
