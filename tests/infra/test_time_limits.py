"""The client gives up after the API, the API after a function, and a function after AWS."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest
from botocore.retries.standard import ExponentialBackoff

from fanin.aws import clients, limits
from fanin.client.transports.http import HttpTransport
from tests.infra.synthesis import handler_of, synthesised
from tests.infra.test_checks import ARCHIVE

TO_ANSWER_SECONDS = 1
"""What a function needs after its last request to AWS, to answer and to log."""
INSIDE_FUNCTIONS = (clients.dynamodb, clients.sqs, clients.events, clients.s3)


@pytest.fixture(scope="module")
def timeouts() -> dict[str, int]:
    """The timeout of every function that can be deployed, by its handler."""
    functions = synthesised(**ARCHIVE).of_type("AWS::Lambda::Function").values()
    return {handler_of(each): each["Properties"]["Timeout"] for each in functions}


@pytest.fixture(autouse=True)
def region(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for service in (*INSIDE_FUNCTIONS, clients.long_polls):
        service.cache_clear()
    yield
    for service in (*INSIDE_FUNCTIONS, clients.long_polls):
        service.cache_clear()


def longest(service) -> float:
    """The seconds of a request whose attempts all time out, with the longest pauses that botocore makes."""
    config = service().meta.config
    assert config.retries["mode"] == "standard"
    attempts = config.retries["total_max_attempts"]
    backoff = ExponentialBackoff(random=lambda: 1.0)
    unanswered = [SimpleNamespace(attempt_number=number, http_response=None) for number in range(1, attempts)]
    pauses = sum(backoff.delay_amount(context) for context in unanswered)
    return attempts * (config.connect_timeout + config.read_timeout) + pauses


@pytest.mark.parametrize("service", INSIDE_FUNCTIONS)
def test_a_request_to_aws_ends_before_any_function_that_makes_it(timeouts, service):
    assert longest(service) <= limits.AWS_SECONDS
    assert min(timeouts.values()) >= limits.AWS_SECONDS + TO_ANSWER_SECONDS


def test_a_function_ends_before_the_api_gives_it_up(timeouts):
    of_api = {seconds for handler, seconds in timeouts.items() if handler.startswith("api.")}

    assert of_api == {limits.FUNCTION_SECONDS}
    assert limits.FUNCTION_SECONDS < limits.API_SECONDS


def test_the_api_waits_as_long_as_it_can():
    integrations = synthesised().of_type("AWS::ApiGatewayV2::Integration").values()

    assert integrations
    # Where nothing is said it is 30 s.
    assert {each["Properties"].get("TimeoutInMillis", 30_000) for each in integrations} == {
        1000 * limits.API_SECONDS
    }


def test_a_client_waits_longer_than_the_api():
    waits = inspect.signature(HttpTransport).parameters["read_seconds"].default

    assert waits > limits.API_SECONDS


def test_only_a_long_poll_is_waited_for_longer_than_a_function_may_run(timeouts):
    assert clients.long_polls().meta.config.read_timeout > limits.POLL_SECONDS
    assert longest(clients.long_polls) > min(timeouts.values())
