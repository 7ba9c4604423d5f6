"""The caller of a request: its tenant and principal, as the authorizer reports them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanin.errors import InvalidRequest
from fanin.settings.tracking import JwtClaims

TOKEN_MAX = 256
"""Characters of a caller token; a longer one is stored as its hash."""
TENANT_MAX = 255
ACCOUNT_ID = re.compile(r"[0-9]{12}", re.ASCII)
"""The tenants of IAM callers and of the stack's own consumers; a JWT with such a tenant is refused."""
LIST = re.compile(r"\[.*\]")
"""The form in which API Gateway passes a claim with several values."""
NO_CLAIMS = JwtClaims()


class Forbidden(InvalidRequest):
    """The request has no identity that this API accepts."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated sender: *tenant* owns the batches, *principal* acts on its behalf."""

    tenant: str
    principal: str
    request_id: str

    def token(self, route: str, key: str | None) -> str:
        """Return the caller token of the tracker: equal for the same principal, *route* and *key*.

        Without a *key* it is unique to the request. The length of the principal keeps two of them apart.
        """
        request = self.request_id if key is None else key
        token = f"{route}:{len(self.principal)}:{self.principal}:{request}"
        if len(token) <= TOKEN_MAX:
            return token
        return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def identify(
    context: Mapping[str, Any], anonymous_tenant: str | None, named: JwtClaims = NO_CLAIMS
) -> Caller:
    """Return the caller in the ``requestContext`` of an HTTP API event (payload 2.0). Raises Forbidden.

    *anonymous_tenant*: the tenant of requests without an authorizer; None refuses them. *named*: the claims
    of a JWT that are its tenant and its caller; a JWT without them is refused.
    """
    authorizer = context.get("authorizer") or {}
    request_id = context["requestId"]
    if iam := authorizer.get("iam"):
        return Caller(_tenant(iam.get("accountId")), _role(iam.get("userArn") or ""), request_id)
    if jwt := authorizer.get("jwt"):
        claims = jwt.get("claims") or {}
        return Caller(_jwt_tenant(claims, named.tenant), _claimed(claims, named.caller), request_id)
    return Caller(_tenant(anonymous_tenant), "anonymous", request_id)


def _tenant(name: object) -> str:
    """Return *name* if it can be part of a store key. Raises Forbidden."""
    if not _fits(name):
        raise Forbidden("the request carries no identity that this API knows")
    return str(name)


def _jwt_tenant(claims: Mapping[str, object], claim: str) -> str:
    """Return the tenant of a JWT; refuse an account id, and ``#``, which separates parts of store keys."""
    tenant = _claimed(claims, claim)
    if "#" in tenant or ACCOUNT_ID.fullmatch(tenant):
        raise Forbidden(
            f"the claim {claim!r} of the token cannot be a tenant: it has a # or is an AWS account id"
        )
    return tenant


def _claimed(claims: Mapping[str, object], claim: str) -> str:
    """Return the value of *claim*, which is one printable text. Raises Forbidden."""
    value = claims.get(claim)
    if not _fits(value) or LIST.fullmatch(str(value)):
        raise Forbidden(
            f"the token needs a claim {claim!r} that is one text of 1 to {TENANT_MAX} printable characters"
        )
    return str(value)


def _fits(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 1 <= len(name) <= TENANT_MAX


def _role(arn: str) -> str:
    """Return *arn* without the session of an assumed role, which differs in each process of a caller."""
    if ":assumed-role/" not in arn:
        return arn
    return "/".join(arn.split("/")[:2])
