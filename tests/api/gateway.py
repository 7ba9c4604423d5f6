"""The HTTP API as its handlers see it: payload 2.0 events in, answers out, on the routes of the stack."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from fanin_cdk.grants.group_handlers import GROUP_API
from fanin_cdk.grants.handlers import API, PUBLICATION_API, TOKEN_API
from fanin_cdk.grants.job_handlers import JOB_API
from tests.api.published import checked

SERVED = {
    route: (f"api.{function}", handler.name)
    for functions in (API, GROUP_API, JOB_API, PUBLICATION_API, TOKEN_API)
    for function, handlers in functions.items()
    for handler in (getattr(each, "lambda_", each) for each in handlers)
    for route in handler.routes
}
"""The function and the handler of each route."""
JSON = {"content-type": "application/json"}
NO_ROUTE = '{"message":"Not Found"}'
"""What the gateway itself answers."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


class Timeless:
    """The context of an invocation that has all its time left."""

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


def answered(method: str, path: str, event: dict[str, Any], context: Any = None) -> dict[str, Any]:
    """What the function of the route answers to *event*, which docs/openapi.json must have.

    The gateway's own answer if there is no route.
    """
    found = reached(method, path)
    if found is None:
        return {"statusCode": 404, "headers": {}, "body": NO_ROUTE}
    route, parameters = found
    function = import_module(f"functions.{SERVED[route][0]}").handler
    answer: dict[str, Any] = function(
        event | {"routeKey": route, "pathParameters": parameters}, context or Timeless()
    )
    checked(method, path, answer["statusCode"], _headers(answer), answer["body"])
    return answer


def reached(method: str, path: str) -> tuple[str, dict[str, str]] | None:
    """The route of a request, and the parameters in its path; None if there is none."""
    for route in SERVED:
        verb, _, template = route.partition(" ")
        match = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]*)", template), path)
        if verb == method and match:
            return route, match.groupdict()
    return None


def _headers(answer: dict[str, Any]) -> dict[str, str]:
    many = {name: values[0] for name, values in answer.get("multiValueHeaders", {}).items()}
    return {**many, **answer.get("headers", {})}


@dataclass
class Gateway:
    """Calls the handler of a route; *authorizer* is what IAM or JWT would say of the caller."""

    authorizer: dict[str, Any] | None = None
    requests: int = field(default=0)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Answer:
        """*body*: bytes travel in base64, text as it is, anything else as JSON."""
        event = self.event(method, path, headers, query) | _body(body)
        answer = answered(method, path, event)
        return Answer(answer["statusCode"], answer["headers"], answer["body"])

    def event(
        self, method: str, path: str, headers: dict[str, str] | None, query: dict[str, Any] | None
    ) -> dict[str, Any]:
        self.requests += 1
        context = {
            "requestId": f"request-{self.requests}",
            "stage": "$default",
            "http": {"method": method, "path": path},
        }
        return {
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": urlencode(query or {}, doseq=True),
            "queryStringParameters": _joined(query),
            "headers": JSON if headers is None else headers,
            "requestContext": context | ({"authorizer": self.authorizer} if self.authorizer else {}),
        }


def _joined(query: dict[str, Any] | None) -> dict[str, str] | None:
    """Each name with its values as the gateway joins them: by commas."""
    return query and {
        name: value if isinstance(value, str) else ",".join(value) for name, value in query.items()
    }


def _body(body: Any) -> dict[str, Any]:
    if body is None:
        return {"isBase64Encoded": False}
    if isinstance(body, bytes):
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return {"body": body if isinstance(body, str) else json.dumps(body), "isBase64Encoded": False}
