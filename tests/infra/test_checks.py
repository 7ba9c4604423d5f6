"""The gates: cdk-nag stops a careless resource, and the template as it was last looked at."""

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
    "glue": {"analytics": "glue", **ANALYTICS},
    "emr": {"analytics": "emr", **ANALYTICS},
}
ARCHIVE = VARIANTS["glue"]


def test_cdk_nag_would_stop_a_queue_that_takes_plain_http_and_loses_messages():
    def careless(stack):
        from aws_cdk import aws_sqs as sqs

        sqs.Queue(stack, "Careless")

    # Here, for importing it starts a Node, which the collection of other tests need not wait for.
    from infra.app import build, check

    app, stack = build(UNBUNDLED, outdir=str(scratch_folder()))
    careless(stack)
    check(app)
    with pytest.raises(RuntimeError, match=r"Careless[\s\S]*AwsSolutions-SQS3[\s\S]*AwsSolutions-SQS4"):
        app.synth()


def test_the_template_is_the_one_last_looked_at(snapshot: SnapshotAssertion):
    text = json.dumps(synthesised(grouper_registrations=True, job_queues="thumbs").template)
    masked = json.loads(re.sub(r"[0-9a-f]{64}", "<asset>", text))

    assert masked == snapshot.use_extension(JSONSnapshotExtension)
