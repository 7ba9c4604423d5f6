"""Who a request comes from, and what it is called in the tracker."""

from __future__ import annotations

from typing import Any

import pytest

from fanin.api.callers import TOKEN_MAX, Caller, Forbidden, identify
from fanin.settings.tracking import JwtClaims
from functions.wiring import tracking
from tests.api.gateway import Gateway

ROLE = "arn:aws:sts::111122223333:assumed-role/Sender"


def _context(authorizer: dict[str, Any] | None) -> dict[str, Any]:
    return {"requestId": "r", "authorizer": authorizer}


def _iam(account: str = "111122223333", arn: str = f"{ROLE}/session-1") -> dict[str, Any]:
    return {"iam": {"accountId": account, "userArn": arn}}


def _jwt(**claims: Any) -> dict[str, Any]:
    return {"jwt": {"claims": claims, "scopes": []}}


def test_an_iam_caller_s_tenant_is_its_account() -> None:
    assert identify(_context(_iam()), None) == Caller("111122223333", ROLE, "r")


def test_all_sessions_of_a_role_are_one_principal() -> None:
    one, other = (identify(_context(_iam(arn=f"{ROLE}/session-{n}")), None) for n in (1, 2))

    assert one == other


@pytest.mark.parametrize("subject", [None, "", "a\nb", "x" * 256, 7])
def test_a_subject_that_cannot_be_part_of_a_key_is_refused(subject: object) -> None:
    with pytest.raises(Forbidden):
        identify(_context(_jwt(sub=subject)), "anonymous tenant")


def test_claims_of_the_configuration_name_the_tenant_and_the_caller() -> None:
    claims = _jwt(sub="alice", org="acme", client_id="worker")

    assert identify(_context(claims), None, JwtClaims("org", "client_id")) == Caller("acme", "worker", "r")
    assert identify(_context(claims), None, JwtClaims("org")) == Caller("acme", "alice", "r")


@pytest.mark.parametrize("tenant", ["111122223333", "000000000000", "a#b", "#", "[acme umbrella]", "[acme]"])
def test_a_token_names_no_account_no_part_of_a_key_and_one_tenant(tenant: str) -> None:
    with pytest.raises(Forbidden, match="'org'"):
        identify(_context(_jwt(sub="alice", org=tenant)), None, JwtClaims("org"))


@pytest.mark.parametrize("claims", [{}, {"sub": "alice"}, {"org": "acme"}, {"sub": "", "org": "acme"}])
def test_a_token_without_one_of_the_claims_is_refused(claims: dict[str, str]) -> None:
    with pytest.raises(Forbidden, match="the token needs a claim"):
        identify(_context(_jwt(**claims)), "anonymous tenant", JwtClaims("org"))


@pytest.mark.parametrize("tenant", ["auth0|5f7c8ec7c33c6c004bbafe82", "11112222333", "1111222233334", "é"])
def test_what_an_issuer_may_call_its_subjects_is_a_tenant(tenant: str) -> None:
    assert identify(_context(_jwt(sub=tenant)), None).tenant == tenant


@pytest.mark.parametrize("authorizer", [None, {}, {"lambda": {"tenant": "x"}}, {"iam": None}])
def test_a_request_without_an_authorizer_is_refused(authorizer: dict[str, Any] | None) -> None:
    with pytest.raises(Forbidden):
        identify(_context(authorizer), None)
    with pytest.raises(Forbidden):  # it names no account, which does not make an anonymous caller
        identify(_context({"iam": {"accountId": None, "userArn": "x"}}), "anonymous tenant")


def test_a_token_is_stable_under_its_key_and_differs_by_request_without_one() -> None:
    first, again = (Caller("t", "p", request) for request in ("r1", "r2"))

    assert first.token("acks", "k") == again.token("acks", "k") == "acks:1:p:k"
    assert first.token("acks", None) != again.token("acks", None)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("p", "acks", "k"), ("p", "close", "k")), (("p", "acks", "q:k"), ("p:q", "acks", "k"))],
)
def test_no_two_principals_routes_or_keys_have_one_token(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    tokens = {Caller("t", principal, "r").token(route, key) for principal, route, key in (one, other)}

    assert len(tokens) == 2


def test_a_long_token_is_bounded_and_still_unique() -> None:
    caller = Caller("t", "p" * 300, "r")

    assert len(caller.token("acks", "k")) <= TOKEN_MAX
    assert caller.token("acks", "k") != caller.token("acks", "l")
    assert caller.token("acks", "k") == caller.token("acks", "k")


def test_anonymous_requests_are_refused_unless_allowed(
    gateway: Gateway, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("FANIN_ALLOW_ANONYMOUS", "false")
    tracking.settings.cache_clear()

    answer = gateway.send("POST", "/v1/batches", {})
    assert (answer.status, answer.body["type"]) == (403, "urn:fanin:problem:forbidden")


def test_the_same_key_of_two_tenants_is_two_keys(gateway: Gateway) -> None:
    headers = {"content-type": "application/json", "idempotency-key": "k"}
    ids = {
        Gateway(_jwt(sub=subject)).send("POST", "/v1/batches", {}, headers).body["batchId"]
        for subject in ("alice", "bob")
    }

    assert len(ids) == 2
