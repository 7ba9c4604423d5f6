"""AWS signatures (SigV4) of requests to an API with IAM authorization."""

from __future__ import annotations

import re

from botocore.session import Session

from fanin.aws.forking import PerProcess
from fanin.aws.signing import Headers, Sign, SigV4
from fanin.errors import InvalidRequest

SERVICE = "execute-api"
_HOST = re.compile(rf"[a-z0-9-]+\.{SERVICE}\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
__all__ = ["Headers", "Sign", "Signer", "region_in"]


def region_in(host: str) -> str | None:
    """Return the region in an API's default host name; None for a custom domain."""
    match = _HOST.fullmatch(host)
    return match[1] if match else None


class Signer:
    """Signs requests with the credentials that boto3 finds; without credentials it adds nothing."""

    def __init__(self, host: str, region: str | None, session: Session | None = None) -> None:
        sessions = PerProcess(lambda: session or Session())
        self._region = region or region_in(host) or sessions().get_config_variable("region")
        self._signature = SigV4(SERVICE, sessions)

    def may_block(self) -> bool:
        """Return whether the next signature waits for credentials."""
        return self._signature.may_block()

    def __call__(self, method: str, url: str, body: bytes | None, headers: Headers) -> Headers:
        if not self._signature.has_credentials():
            return headers
        if not self._region:
            raise InvalidRequest(
                "the host does not contain the region of the signature; pass region", field="region"
            )
        return self._signature.signed(self._region, method, url, body, headers)
