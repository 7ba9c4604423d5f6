"""Settings that tests of the whole stack share."""

from __future__ import annotations

from typing import Any

EVERYTHING: dict[str, Any] = {
    "demo": True,
    "archive": True,
    "analytics": "glue",
    "analytics_queue_arns": "arn:aws:sqs:eu-west-1:123456789012:work",
    "analytics_bucket_arns": "arn:aws:s3:::datasets",
    "analytics_schedule": "cron(15 2 * * ? *)",
    "alarm_email": "ops@example.com",
    "jwt_issuer": "https://issuer.example.com/",
    "jwt_audience": "fanin",
    "max_request_units": 4000,
    "dead_letter_queue_arns": "arn:aws:sqs:eu-west-1:123456789012:orders-dead=acme",
    "job_queues": "thumbs",
    "protect_data": True,
}
"""Every part of the stack, and an entry in every list that makes resources or grants."""
