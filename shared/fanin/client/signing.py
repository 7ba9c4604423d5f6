"""AWS signatures (SigV4) of requests to an API with IAM authorization."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import Session

from fanin.aws.forking import PerProcess
from fanin.errors import InvalidRequest

SERVICE = "execute-api"
_HOST = re.compile(rf"[a-z0-9-]+\.{SERVICE}\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")

Headers = Mapping[str, str]
Sign = Callable[[str, str, bytes | None, Headers], Headers]
"""(method, url, body, headers) -> headers with the caller's credentials."""


def region_in(host: str) -> str | None:
    """Return the region in an API's default host name; None for a custom domain."""
    match = _HOST.fullmatch(host)
    return match[1] if match else None


class Signer:
    """Signs requests with the credentials that boto3 finds; without credentials it adds nothing."""

    def __init__(self, host: str, region: str | None, session: Session | None = None) -> None:
        made = PerProcess(lambda: session or Session())
        self._region = region or region_in(host) or made().get_config_variable("region")
        self._credentials = PerProcess[Credentials | None](lambda: made().get_credentials())

    def __call__(self, method: str, url: str, body: bytes | None, headers: Headers) -> Headers:
        credentials = self._credentials()
        if credentials is None:
            return headers
        if not self._region:
            raise InvalidRequest("the host does not contain the region of the signature; pass region")
        request = AWSRequest(method, url, headers=dict(headers), data=body)
        SigV4Auth(credentials.get_frozen_credentials(), SERVICE, self._region).add_auth(request)
        return dict(request.headers.items())
