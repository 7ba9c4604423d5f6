"""The HTTP API: a function for each kind of routes, every route authorised but the public ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import jsii
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from fanin_cdk.constructs.functions import name_of, vended_logs
from fanin_cdk.grants.handlers import PUBLIC_ROUTES
from fanin_cdk.nag import accept
from fanin_cdk.settings.concurrency import Shares, shares
from fanin_cdk.settings.config import Config

# A line is JSON although values are inserted as they are: of two fields of a name, readers take the last.
# So the caller, of whose text a part is the caller's, is the first.
ACCESS_LOG = {
    "requestId": "$context.requestId",
    "time": "$context.requestTime",
    "route": "$context.routeKey",
    "status": "$context.status",
    "latencyMs": "$context.responseLatency",
    "bytes": "$context.responseLength",
    "error": "$context.error.message",
    "authorizerError": "$context.authorizer.error",
}


Served = Iterable[tuple[lambda_.Function, Sequence[str]]]
"""Functions, and the routes that each serves."""


class Api(Construct):
    """An HTTP API (v2) on its ``$default`` stage: IAM authorization, or JWT when an issuer is configured.

    *served*: its functions and their routes. *domain*: the host name of the configuration, if it has one.
    """

    def __init__(self, scope: Construct, id_: str, config: Config, served: Served) -> None:
        super().__init__(scope, id_)
        self.http = apigatewayv2.HttpApi(
            self, "Http", create_default_stage=False, default_authorizer=_authorizer(config)
        )
        self.functions: list[lambda_.Function] = []
        self.routes: list[str] = []
        self._public: dict[str, apigatewayv2.HttpRoute] = {}
        for function, routes in served:
            self.add(function, routes)
        self.domain = _domain(self, config) if config.domain_name and config.target == "aws" else None
        self.access_log = vended_logs(self, "AccessLog", config)
        share = shares(config)
        self.stage = apigatewayv2.HttpStage(
            self,
            "Stage",
            http_api=self.http,
            stage_name="$default",
            auto_deploy=True,
            domain_mapping=_mapping(self.domain),
            throttle=apigatewayv2.ThrottleSettings(rate_limit=share.rate, burst_limit=share.burst),
            access_log_settings=AccessLog(self.access_log, access_log(config)),
        )
        if self._public:
            self._bound_public_routes(share)

    @property
    def url(self) -> str:
        """The URL of the API, which ends with a slash."""
        return self.stage.url

    @property
    def domain_outputs(self) -> dict[str, str]:
        """What the DNS record of the host name refers to; empty without one."""
        if self.domain is None:
            return {}
        return {
            "ApiDomainTarget": self.domain.regional_domain_name,
            "ApiDomainZone": self.domain.regional_hosted_zone_id,
        }

    def arns(self, routes: Sequence[str]) -> list[str]:
        """Return the ARNs by which IAM authorizes the requests of *routes*, each ``METHOD /path``."""
        calls = (route.split(" ") for route in routes)
        return [
            self.http.arn_for_execute_api(method, re.sub(r"\{\w+\}", "*", path), "$default")
            for method, path in calls
        ]

    def add(self, function: lambda_.Function, routes: Sequence[str]) -> None:
        """Integrate *function* for *routes*, each ``METHOD /path``."""
        integration = integrations.HttpLambdaIntegration(name_of(function), function)
        for route in routes:
            method, path = route.split(" ")
            is_public = route in PUBLIC_ROUTES
            added = self.http.add_routes(
                path=path,
                methods=[apigatewayv2.HttpMethod(method)],
                integration=integration,
                authorizer=apigatewayv2.HttpNoneAuthorizer() if is_public else None,
            )
            if is_public:
                self._public[route] = added[0]
        self.functions.append(function)
        self.routes += routes

    def _bound_public_routes(self, share: Shares) -> None:
        """Throttle each public route by itself, so that a flood of it takes nothing from callers."""
        limits = {"ThrottlingRateLimit": share.rate, "ThrottlingBurstLimit": share.burst}
        stage = cast(apigatewayv2.CfnStage, self.stage.node.default_child)
        stage.route_settings = dict.fromkeys(self._public, limits)
        for route in self._public.values():
            accept(route, "A progress token in the query is its authorization", "AwsSolutions-APIG4")
            self.stage.node.add_dependency(route)


@jsii.implements(apigatewayv2.IAccessLogSettings)
class AccessLog:
    """One line of JSON with *fields* for each request, without its body, headers or token."""

    def __init__(self, group: logs.ILogGroup, fields: Mapping[str, str]) -> None:
        self._destination = apigatewayv2.LogGroupLogDestination(group)
        self._format = apigateway.AccessLogFormat.custom(json.dumps(fields))

    @property
    def destination(self) -> apigatewayv2.IAccessLogDestination:
        """The log group of the lines."""
        return self._destination

    @property
    def format(self) -> apigateway.AccessLogFormat:
        """The fields of a line."""
        return self._format


def access_log(config: Config) -> dict[str, str]:
    """Return the fields of a line of the access log, with the caller.

    That is the ARN that signed the request, with its session, or the claim of the JWT that names the caller
    ("Customize HTTP API access logs" has both). A claim whose name is no name of a variable is left out.
    """
    if not config.jwt_issuer:
        return {"caller": "$context.identity.userArn", **ACCESS_LOG}
    if not re.fullmatch(r"\w+", config.jwt_caller_claim, re.ASCII):
        return ACCESS_LOG
    return {"caller": f"$context.authorizer.claims.{config.jwt_caller_claim}", **ACCESS_LOG}


def _domain(scope: Construct, config: Config) -> apigatewayv2.DomainName:
    certificate = acm.Certificate.from_certificate_arn(scope, "Certificate", config.certificate_arn)
    return apigatewayv2.DomainName(
        scope,
        "Domain",
        domain_name=config.domain_name,
        certificate=certificate,
        security_policy=apigatewayv2.SecurityPolicy.TLS_1_2,
    )


def _mapping(domain: apigatewayv2.DomainName | None) -> apigatewayv2.DomainMappingOptions | None:
    return apigatewayv2.DomainMappingOptions(domain_name=domain) if domain else None


def _authorizer(config: Config) -> apigatewayv2.IHttpRouteAuthorizer:
    if not config.jwt_issuer:
        return authorizers.HttpIamAuthorizer()
    return authorizers.HttpJwtAuthorizer("Jwt", config.jwt_issuer, jwt_audience=[config.jwt_audience])
