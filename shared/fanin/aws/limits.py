"""Timeouts: of the client for the API, of the API for a function, of a function for AWS.

A request to AWS ends within ``AWS_SECONDS``; a function of the API times out after ``FUNCTION_SECONDS``, API
Gateway after ``API_SECONDS``, and the client after ``ANSWER_SECONDS``. The timeouts of the functions are in
``fanin_cdk/grants/handlers.py``, and ``tests/infra/test_time_limits.py`` compares them with these.
"""

from __future__ import annotations

CONNECT_SECONDS = 2
READ_SECONDS = 5
ATTEMPTS = 3
PAUSE_MAX_SECONDS = 20
"""botocore's standard retries wait a random part of 1 s, 2 s, 4 s and so on, up to this."""
PAUSES = tuple(min(2**attempt, PAUSE_MAX_SECONDS) for attempt in range(ATTEMPTS - 1))
AWS_SECONDS = ATTEMPTS * (CONNECT_SECONDS + READ_SECONDS) + sum(PAUSES)
"""The longest duration of one request to AWS, retries included."""

POLL_SECONDS = 20
"""The longest long poll of SQS."""
POLL_READ_SECONDS = POLL_SECONDS + READ_SECONDS

ANNOUNCE_CONNECT_SECONDS = 0.5
ANNOUNCE_READ_SECONDS = 1.0
"""Of the one attempt to put a completion on the bus, for which the answer of the last ack waits."""

INVOCATION_SECONDS = 420
"""The longest timeout of a Lambda function that is a batch API: half of the longest lease of a call."""

FUNCTION_SECONDS = 29
"""The timeout of a function that answers the API."""
API_SECONDS = 30
"""The integration timeout of HTTP APIs, a quota that cannot be raised."""
ANSWER_SECONDS = API_SECONDS + 1
"""The read timeout of the client; a shorter one would retry requests that are still running."""
