from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase

import pytest

from tests.infra.synthesis import UNBUNDLED, logs_by_a_policy


def routes_of(assembly):
    found = assembly.of_type("AWS::ApiGatewayV2::Route").values()
    return {each["Properties"]["RouteKey"]: each["Properties"] for each in found}


def test_every_route_asks_for_an_iam_signature(default):
    assert {each["AuthorizationType"] for each in routes_of(default).values()} == {"AWS_IAM"}


def test_a_grant_of_a_route_covers_no_other_but_the_reads_below_it(default):
    """In a policy, a wildcard stands for slashes too."""
    import aws_cdk as cdk

    from fanin_cdk import FaninTracker

    api = FaninTracker(cdk.Stack(cdk.App(context=UNBUNDLED), "Mine"), "Fanin", queues=True).api
    routes = routes_of(default)
    granted = {route: api.arns([route])[0].partition("/$default/")[2] for route in routes}
    requests = {route: re.sub(r"\{\w+\}", "x", route.replace(" ", "")) for route in routes}
    more = {(a, b) for a in routes for b in routes if a != b and fnmatchcase(requests[b], granted[a])}

    assert all(fnmatchcase(requests[route], granted[route]) for route in routes)
    assert {a for a, _ in more} == {"GET /v1/batches/{batchId}", "GET /v1/queues/{queue}"}
    assert [(a, b) for a, b in more if not b.startswith(f"{a}/")] == []


def test_with_an_issuer_every_route_asks_for_its_jwt(configured):
    routes = routes_of(configured).values()
    authorizer = configured.only("AWS::ApiGatewayV2::Authorizer")["Properties"]

    assert {each["AuthorizationType"] for each in routes} == {"JWT"}
    assert all(each["AuthorizerId"]["Ref"] in configured.template["Resources"] for each in routes)
    assert authorizer["JwtConfiguration"] == {
        "Issuer": "https://issuer.example.com/",
        "Audience": ["fanin"],
    }


def test_every_function_has_the_claims_of_a_jwt(configured, default):
    claims = {"FANIN_JWT_TENANT_CLAIM": "org", "FANIN_JWT_CALLER_CLAIM": "client_id"}

    for assembly, expected in ((configured, claims), (default, {})):
        for function in assembly.of_type("AWS::Lambda::Function").values():
            variables = function["Properties"]["Environment"]["Variables"]
            assert {name: value for name, value in variables.items() if "_JWT_" in name} == expected


def test_the_stage_throttles_and_logs_each_request(default):
    stage = default.only("AWS::ApiGatewayV2::Stage")["Properties"]
    line = json.loads(stage["AccessLogSettings"]["Format"])

    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 40, "ThrottlingRateLimit": 20}
    assert line["requestId"] == "$context.requestId"
    assert line["status"] == "$context.status"
    assert line["route"] == "$context.routeKey"


def test_a_log_that_a_service_writes_takes_no_room_in_the_one_policy_of_the_account(default):
    names = logs_by_a_policy(default.template)

    assert names
    for name in names:
        assert re.fullmatch(r"/aws/vendedlogs/fanin/\{AWS::StackName\}-[0-9a-f]{8}", name)


def test_no_two_parts_of_a_stack_have_one_name():
    import aws_cdk as cdk
    from constructs import Construct

    from fanin_cdk.stages import unique_name

    stack = cdk.Stack(cdk.App(), "Mine")

    assert unique_name(Construct(stack, "One")) != unique_name(Construct(stack, "Other"))


@pytest.mark.parametrize(
    ("settings", "caller"),
    [
        ({}, "$context.identity.userArn"),
        ({"jwt_issuer": "https://a.example", "jwt_audience": "b"}, "$context.authorizer.claims.sub"),
        (
            {"jwt_issuer": "https://a.example", "jwt_audience": "b", "jwt_caller_claim": "client_id"},
            "$context.authorizer.claims.client_id",
        ),
        (
            {"jwt_issuer": "https://a.example", "jwt_audience": "b", "jwt_caller_claim": "https://a/b"},
            None,
        ),
    ],
)
def test_the_access_log_names_the_caller_first_so_that_its_text_replaces_no_other_field(settings, caller):
    from fanin_cdk.constructs.api import ACCESS_LOG, access_log
    from fanin_cdk.settings.config import Config

    fields = access_log(Config(**settings))
    line = json.dumps(fields)
    forged = json.loads(line.replace(str(caller), 'me", "status": "200'))

    assert fields.get("caller") == caller
    assert list(fields)[-len(ACCESS_LOG) :] == list(ACCESS_LOG)
    assert forged["status"] == "$context.status"
    assert not [each for each in fields.values() if "header" in each.lower() or "apikey" in each.lower()]


def test_with_progress_tokens_one_route_more_is_public_and_is_throttled_by_itself(default, full):
    public = {name for name, each in routes_of(full).items() if each["AuthorizationType"] == "NONE"}
    stage = full.only("AWS::ApiGatewayV2::Stage")
    others = {each["AuthorizationType"] for name, each in routes_of(full).items() if name not in public}

    assert public == {"GET /v1/progress"}
    assert others == {"AWS_IAM"}
    assert routes_of(full).keys() - routes_of(default).keys() >= {*public, "POST /v1/batches/{batchId}/token"}
    assert stage["Properties"]["RouteSettings"] == {
        "GET /v1/progress": stage["Properties"]["DefaultRouteSettings"]
    }
    assert not full.only("AWS::ApiGatewayV2::Api")["Properties"].get("CorsConfiguration")


def test_the_throttle_is_configured(configured):
    stage = configured.only("AWS::ApiGatewayV2::Stage")["Properties"]

    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 9, "ThrottlingRateLimit": 7}
