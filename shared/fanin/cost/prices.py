"""List prices of AWS in us-east-1, in US dollars, the first tier of each, without free tiers.

Each is that of the pricing page of its service in ``PAGES``, as of ``AS_OF``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AS_OF = "June 2026"
MILLION = 1_000_000
PAGES = {
    "API Gateway": "https://aws.amazon.com/api-gateway/pricing/",
    "CloudWatch": "https://aws.amazon.com/cloudwatch/pricing/",
    "DynamoDB": "https://aws.amazon.com/dynamodb/pricing/on-demand/",
    "EventBridge": "https://aws.amazon.com/eventbridge/pricing/",
    "KMS": "https://aws.amazon.com/kms/pricing/",
    "Lambda": "https://aws.amazon.com/lambda/pricing/",
    "S3": "https://aws.amazon.com/s3/pricing/",
    "SQS": "https://aws.amazon.com/sqs/pricing/",
    "X-Ray": "https://aws.amazon.com/xray/pricing/",
}
"""The pricing page of each service."""


@dataclass(frozen=True, slots=True)
class Price:
    """*dollars* for *each* units of *service*; *unit* is in the plural."""

    service: str
    unit: str
    dollars: float
    each: int = 1

    @property
    def per_unit(self) -> float:
        """Return the dollars of one unit."""
        return self.dollars / self.each


PRICES: Mapping[str, Price] = {
    "api_request": Price("API Gateway", "HTTP API requests", 1.00, MILLION),
    "alarm": Price("CloudWatch", "alarm metrics", 0.10),
    "composite_alarm": Price("CloudWatch", "composite alarms", 0.50),
    "custom_metric": Price("CloudWatch", "custom metrics", 0.30),
    "dashboard": Price("CloudWatch", "dashboards", 3.00),
    "log_gb": Price("CloudWatch", "GB of logs", 0.50),
    "log_gb_month": Price("CloudWatch", "GB-months of logs", 0.03),
    "write_unit": Price("DynamoDB", "write request units", 0.625, MILLION),
    "read_unit": Price("DynamoDB", "read request units", 0.125, MILLION),
    "table_gb_month": Price("DynamoDB", "GB-months of tables", 0.25),
    "recovery_gb_month": Price("DynamoDB", "GB-months of point-in-time recovery", 0.20),
    "event": Price("EventBridge", "custom events", 1.00, MILLION),
    "key": Price("KMS", "keys", 1.00),
    "invocation": Price("Lambda", "requests", 0.20, MILLION),
    "gb_second": Price("Lambda", "arm64 GB-seconds", 0.0000133334),
    "object_write": Price("S3", "PUT and LIST requests", 5.00, MILLION),
    "object_read": Price("S3", "GET requests", 0.40, MILLION),
    "object_gb_month": Price("S3", "GB-months of Standard storage", 0.023),
    "queue_request": Price("SQS", "requests to standard queues", 0.40, MILLION),
    "trace": Price("X-Ray", "traces", 5.00, MILLION),
}
"""All prices; the key is the name of a unit in a ``Usage``."""

SQS_REQUEST = PRICES["queue_request"].per_unit
WRITE_UNIT = PRICES["write_unit"].per_unit
READ_UNIT = PRICES["read_unit"].per_unit
