"""The settings of the local run whose callers have JWTs; it starts while others are tested."""

from __future__ import annotations

from tests.http.issuer import AUDIENCE

DEAD_LETTER_QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders-dead"
OPEN_AT_MOST = 10
ROWS = "arn:aws:sqs:us-east-1:000000000000:rows"
SETTINGS = {
    "stage": "tenants",  # with --dynamodb, the other run of these tests has tables there too
    "jwt_issuer": "https://issuer.example.com/",
    "jwt_audience": AUDIENCE,
    "jwt_tenant_claim": "org",
    "acks_tenant": "acme",
    "dead_letter_queue_arns": f"{DEAD_LETTER_QUEUE}=acme",
    "grouper": False,
    "archive": True,
    "publications": [{"source": "s3://lake/acme/", "queue": ROWS, "tenants": ["acme"]}],
    "quota_open_batches": OPEN_AT_MOST,
}
