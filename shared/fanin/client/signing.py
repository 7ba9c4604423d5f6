"""Signatures of AWS (SigV4) for the requests to an API that asks for IAM."""

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
"""(method, url, body, headers) -> headers, with what proves who is asking."""


def region_in(host: str) -> str | None:
    """The region in an API's own host name; None for a name of one's own."""
    match = _HOST.fullmatch(host)
    return match[1] if match else None


class Signer:
    """Signs with the credentials that boto3 would use; without any, requests go as they are."""

    def __init__(self, host: str, region: str | None, session: Session | None = None) -> None:
        made = PerProcess(lambda: session or Session())
        self._region = region or region_in(host) or made().get_config_variable("region")
        self._credentials = PerProcess[Credentials | None](lambda: made().get_credentials())

    def __call__(self, method: str, url: str, body: bytes | None, headers: Headers) -> Headers:
        credentials = self._credentials()
        if credentials is None:
            return headers
        if not self._region:
            raise InvalidRequest("a signature needs the API's region, which its host does not name: give one")
        request = AWSRequest(method, url, headers=dict(headers), data=body)
        SigV4Auth(credentials.get_frozen_credentials(), SERVICE, self._region).add_auth(request)
        return dict(request.headers.items())
