"""Who is asking: tenant and principal of a request, from what the authorizer said and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanin.errors import InvalidRequest

TOKEN_MAX = 256
"""Characters of a caller token; a longer one is stored as its hash."""
TENANT_MAX = 255


class Forbidden(InvalidRequest):
    """Nobody vouches for this caller."""


@dataclass(frozen=True, slots=True)
class Caller:
    """*tenant* owns the batches, *principal* asks on its behalf; *request_id* is this one request's."""

    tenant: str
    principal: str
    request_id: str

    def token(self, route: str, key: str | None) -> str:
        """What names this caller in the tracker: the same again for the same idempotency *key* on a *route*.

        The length keeps two principals apart, whatever their names and keys hold.
        """
        asked = self.request_id if key is None else key
        token = f"{route}:{len(self.principal)}:{self.principal}:{asked}"
        if len(token) <= TOKEN_MAX:
            return token
        return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def identify(context: Mapping[str, Any], anonymous_tenant: str | None) -> Caller:
    """The caller in the ``requestContext`` of an HTTP API event (payload 2.0).

    *anonymous_tenant* stands in where no authorizer spoke; without it such a request is Forbidden.
    """
    authorizer = context.get("authorizer") or {}
    request_id = context["requestId"]
    if iam := authorizer.get("iam"):
        return Caller(_tenant(iam.get("accountId")), _role(iam.get("userArn") or ""), request_id)
    if jwt := authorizer.get("jwt"):
        subject = _tenant((jwt.get("claims") or {}).get("sub"))
        return Caller(subject, subject, request_id)
    return Caller(_tenant(anonymous_tenant), "anonymous", request_id)


def _tenant(name: object) -> str:
    """*name*, where it can stand in a key of the store."""
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= TENANT_MAX:
        raise Forbidden("the request carries no identity that this API knows")
    return name


def _role(arn: str) -> str:
    """*arn* without the session of an assumed role, which changes with every process of one caller."""
    if ":assumed-role/" not in arn:
        return arn
    return "/".join(arn.split("/")[:2])
