"""Headers from Secrets Manager, and signatures: sent with each request, and nowhere else."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.session import Session

from fanin.aws.signing import SigV4
from fanin.grouper import Answer, Call, Member, Outcome, Verdict
from fanin.grouper.batch_api_calls.http import HttpDownstream
from fanin.grouper.batch_api_calls.secrets import SecretHeaders, SecretUnreadable, headers_of, without_secrets

CALL = Call("t", "search", "b-1", 2, (Member("a", {"x": 1}), Member("b", None)))


TOKEN = "Bearer s3cr3t-t0ken-of-ours"


OTHER = "Bearer another-t0ken-of-ours"


ARN = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:batch-api-AbCdEf"


class Recorded:
    """Secrets Manager with the answers that the test gives, the last of them again and again."""

    def __init__(self, *values):
        self.values = list(values)
        self.reads = 0

    def get_secret_value(self, *, SecretId):  # noqa: N803  # as AWS names it
        assert SecretId == ARN
        self.reads += 1
        value = self.values[0] if len(self.values) == 1 else self.values.pop(0)
        if isinstance(value, Exception):
            raise value
        return {"ARN": ARN, "SecretString": value}


class Clock:
    """A clock that the test moves."""

    at = 1_000.0

    def __call__(self):
        return self.at


def holding(token):
    return json.dumps({"Authorization": token})


def denied(code="AccessDeniedException", status=400):
    facts = {"Error": {"Code": code, "Message": TOKEN}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(facts, "GetSecretValue")


def headers_from(*values, clock=None):
    return SecretHeaders(Recorded(*values), ARN, 900, clock or Clock())


def api_of(service, *values):
    return HttpDownstream(service.api.url, secret=headers_from(*values))


def test_the_headers_of_a_secret_are_sent_and_read_once(service):
    api = api_of(service, holding(TOKEN))

    assert (api.call(CALL), api.call(CALL)) == (Answer(), Answer())
    assert service.asked[1]["Authorization"] == TOKEN
    assert api.secret.client.reads == 1


def test_a_header_of_the_request_itself_is_not_sent_twice_for_one_in_the_secret(service):
    secret = json.dumps({"content-type": "text/plain", "IDEMPOTENCY-KEY": "mine", "x-team": "a"})
    api = HttpDownstream(service.api.url, headers={"X-Team": "b"}, secret=headers_from(secret))

    assert api.call(CALL) == Answer()
    sent = [(name.lower(), value) for name, value in service.asked[1].items()]
    of_ours = [each for each in sent if each[0] in {"content-type", "idempotency-key", "x-team"}]
    assert sorted(of_ours) == [
        ("content-type", "application/json"),
        ("idempotency-key", "b-1"),
        ("x-team", "a"),
    ]


def test_a_secret_that_changes_is_read_once_by_all_calls_that_were_refused():
    headers = headers_from(holding(TOKEN), holding(OTHER))
    old = headers.headers()
    refused = Barrier(8)

    def call(_):
        refused.wait()
        headers.refused(old)
        return headers.headers()["Authorization"]

    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(call, range(8)))

    assert (seen, headers.client.reads) == ({OTHER}, 2)


def test_headers_are_read_again_at_their_age():
    clock = Clock()
    headers = headers_from(holding(TOKEN), holding(OTHER), clock=clock)
    seen = [headers.headers()]
    for seconds in (899, 1):
        clock.at += seconds
        seen.append(headers.headers())

    assert [each["Authorization"] for each in seen] == [TOKEN, TOKEN, OTHER]


@pytest.mark.parametrize("status", [401, 403])
def test_after_refused_credentials_the_secret_is_read_again_and_the_bundle_called_again(service, status):
    api = api_of(service, holding(TOKEN), holding(OTHER))
    service.status = status
    first = api.call(CALL)
    service.status = 200

    assert first == Answer(Outcome(Verdict.RETRY, f"status {status}: the batch API refused the credentials"))
    assert api.call(CALL) == Answer()
    assert service.asked[1]["Authorization"] == OTHER


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (denied(), "AccessDeniedException"),
        (denied("InternalServiceError", 500), "StoreUnavailable"),
        (EndpointConnectionError(endpoint_url="https://x"), "StoreUnavailable"),
    ],
    ids=["denied", "failed", "unreachable"],
)
def test_a_secret_that_cannot_be_read_delays_the_call(service, error, reason):
    answer = api_of(service, error).call(CALL)

    assert answer == Answer(Outcome(Verdict.RETRY, f"the secret of the headers cannot be read: {reason}"))
    assert service.asked is None


def test_while_secrets_manager_fails_the_last_headers_are_used(caplog):
    clock = Clock()
    headers = headers_from(holding(TOKEN), denied(), clock=clock)
    headers.headers()
    clock.at += 900

    assert headers.headers() == {"Authorization": TOKEN}
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        "{}",
        json.dumps([TOKEN]),
        json.dumps({"Authorization": [TOKEN]}),
        json.dumps({"Authorization": f"{TOKEN}\r\nX-Other: 1"}),
        json.dumps({"Authorization": f"{TOKEN}\u00e9"}),
        json.dumps({f"Authorization: {TOKEN}\n": "x"}),
        '{"Authorization": "' + TOKEN,
    ],
)
def test_a_malformed_secret_is_refused_without_its_value(service, caplog, capfd, value):
    with caplog.at_level(logging.DEBUG):
        answer = api_of(service, value).call(CALL)

    with pytest.raises(SecretUnreadable) as raised:
        headers_of({"SecretString": value})
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert answer.whole.verdict is Verdict.RETRY
    shown = f"{answer}{caplog.text}{''.join(capfd.readouterr())}{raised.value}"
    assert TOKEN not in shown


def test_what_the_batch_api_repeats_of_the_headers_is_not_stored(service):
    detail = f"no access with {TOKEN}, that is {TOKEN.split()[1]}"
    service.body = json.dumps({"results": [{"taskId": "a", "outcome": "fail", "detail": detail}]}).encode()
    answer = api_of(service, holding(TOKEN)).call(CALL)

    assert answer.members == {"a": Outcome(Verdict.FAIL, "no access with ***, that is ***")}


def test_nothing_shows_the_headers(service, caplog):
    with caplog.at_level(logging.DEBUG):
        api = api_of(service, holding(TOKEN))
        api.call(CALL)

    assert TOKEN not in repr(api)
    assert TOKEN not in caplog.text


def session():
    session = Session()
    session._credentials = Credentials("AKID", "secret-key", "session-token")
    return session


def test_a_signed_request_names_service_and_region(service):
    sign = partial(SigV4("appsync", session).signed, "eu-west-1")
    api = HttpDownstream(service.api.url, headers={"X-Team": "a"}, sign=sign)

    assert api.call(CALL) == Answer()
    signed = service.asked[1]
    assert "/eu-west-1/appsync/aws4_request" in signed["Authorization"]
    assert "idempotency-key" in signed["Authorization"]
    assert (signed["X-Amz-Security-Token"], signed["X-Team"]) == ("session-token", "a")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1234567", "of 1234567"),
        ("12345678", "of ***"),
        ("Basic 1234567", "of 1234567"),
        ("Basic 12345678", "of ***"),
    ],
)
def test_a_value_of_eight_characters_is_hidden(value, shown):
    assert without_secrets(f"of {value.split()[-1]}", {"Authorization": value}) == shown
