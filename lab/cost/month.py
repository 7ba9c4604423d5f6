"""What of a month is counted, and what is assumed because only a deployment could measure it."""

MINUTES = 30 * 24 * 60
SECONDS = 60 * MINUTES
GB = 1e9

# Lambda reads a queue by five long polls at once, each of 20 s (Lambda Developer Guide, Lambda with SQS).
POLLERS, POLLS_A_MINUTE = 5, 3
# X-Ray records the first trace of a second and 5 % of the others (X-Ray Developer Guide, sampling rules).
SAMPLED = 0.05
# Lambda's own lines of an invocation, start and report in JSON, and CloudWatch's 26 bytes for each event.
LAMBDA_LINES, EVENTS, EVENT_BYTES = 600, 3, 26
# Assumed, for a warm function: its own time, and that of each request to DynamoDB or SQS one after another.
OWN_MS, REQUEST_MS = 10.0, 8.0


def milliseconds(requests: float) -> float:
    """Return the assumed duration of an invocation that makes *requests* requests."""
    return OWN_MS + REQUEST_MS * requests


def traces(invocations: float) -> float:
    """Return the most traces that are recorded of a month's *invocations* of one function."""
    first = min(invocations, SECONDS)
    return first + SAMPLED * (invocations - first)
