"""How long each waits for the next: the client for the API, the API for a function, a function for AWS.

A request to AWS ends within ``AWS_SECONDS``; a function of the API may run ``FUNCTION_SECONDS``; API Gateway
waits for it ``API_SECONDS``; the client waits ``ANSWER_SECONDS`` for the answer. The timeouts of the
functions are in ``infra/handlers.py``, and ``tests/infra/test_time_limits.py`` compares them with these.
"""

from __future__ import annotations

CONNECT_SECONDS = 2
READ_SECONDS = 5
ATTEMPTS = 3
PAUSE_MAX_SECONDS = 20
"""botocore's standard retries wait a random part of 1 s, 2 s, 4 s and so on, at most this."""
PAUSES = tuple(min(2**attempt, PAUSE_MAX_SECONDS) for attempt in range(ATTEMPTS - 1))
AWS_SECONDS = ATTEMPTS * (CONNECT_SECONDS + READ_SECONDS) + sum(PAUSES)
"""The longest that one request to AWS takes, retries included."""

POLL_SECONDS = 20
"""The longest that SQS waits for a message."""
POLL_READ_SECONDS = POLL_SECONDS + READ_SECONDS

FUNCTION_SECONDS = 29
"""The timeout of a function that answers the API."""
API_SECONDS = 30
"""How long API Gateway waits for a function: a quota of HTTP APIs that cannot be raised."""
ANSWER_SECONDS = API_SECONDS + 1
"""How long a client waits: if it gave up earlier, it would repeat what is still being done."""
