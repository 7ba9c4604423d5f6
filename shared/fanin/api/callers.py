"""Who is asking: tenant and principal of a request, from what the authorizer said and nothing else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanin.aws.settings import JwtClaims
from fanin.errors import InvalidRequest

TOKEN_MAX = 256
"""Characters of a caller token; a longer one is stored as its hash."""
TENANT_MAX = 255
ACCOUNT_ID = re.compile(r"[0-9]{12}", re.ASCII)
"""The tenants of IAM callers, and of the stack's own consumers; no JWT may name one."""
LIST = re.compile(r"\[.*\]")
"""How API Gateway writes a claim that has several values."""
NO_CLAIMS = JwtClaims()


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


def identify(
    context: Mapping[str, Any], anonymous_tenant: str | None, named: JwtClaims = NO_CLAIMS
) -> Caller:
    """The caller in the ``requestContext`` of an HTTP API event (payload 2.0).

    *anonymous_tenant* stands in where no authorizer spoke; without it such a request is Forbidden. *named*:
    the claims of a JWT that name its tenant and its caller; a JWT without them is Forbidden, too.
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
    """*name*, where it can stand in a key of the store."""
    if not _fits(name):
        raise Forbidden("the request carries no identity that this API knows")
    return str(name)


def _jwt_tenant(claims: Mapping[str, object], claim: str) -> str:
    """The tenant that a JWT names: no account, and nothing that a key of the store could be misread by."""
    tenant = _claimed(claims, claim)
    if "#" in tenant or ACCOUNT_ID.fullmatch(tenant):
        raise Forbidden(
            f"the claim {claim!r} of the token cannot be a tenant: a tenant has no # and is no account id"
        )
    return tenant


def _claimed(claims: Mapping[str, object], claim: str) -> str:
    """The one text that *claims* have under the name *claim*."""
    value = claims.get(claim)
    if not _fits(value) or LIST.fullmatch(str(value)):
        raise Forbidden(
            f"the token needs a claim {claim!r} that is one text of 1 to {TENANT_MAX} printable characters"
        )
    return str(value)


def _fits(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 1 <= len(name) <= TENANT_MAX


def _role(arn: str) -> str:
    """*arn* without the session of an assumed role, which changes with every process of one caller."""
    if ":assumed-role/" not in arn:
        return arn
    return "/".join(arn.split("/")[:2])
