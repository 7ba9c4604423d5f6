"""The callbacks of the shared local run; the emulator's account and region, and a webhook without a port."""

from __future__ import annotations

from typing import Any

QUEUE = "arn:aws:sqs:us-east-1:000000000000:called-back"
TOPIC = "arn:aws:sns:us-east-1:000000000000:called-back"
SECRET = "arn:aws:secretsmanager:us-east-1:000000000000:secret:webhook-AbCdEf"
CALLBACKS: list[dict[str, Any]] = [
    {"name": "orders", "queue": QUEUE},
    {"name": "people", "topic": TOPIC},
    {"name": "hook", "url": "http://127.0.0.1:9/", "secret": SECRET},
]
