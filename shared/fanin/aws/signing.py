"""AWS signatures (SigV4) of HTTP requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import Session

from fanin.aws.forking import PerProcess

Headers = Mapping[str, str]
Sign = Callable[[str, str, bytes | None, Headers], Headers]
"""(method, url, body, headers) -> headers with the caller's credentials."""


class SigV4:
    """Signs requests to *service* with the credentials of a session; without credentials it adds nothing."""

    def __init__(self, service: str, session: Callable[[], Session] = Session) -> None:
        self._service = service
        session_of_process = PerProcess(session)
        self._credentials = PerProcess[Credentials | None](lambda: session_of_process().get_credentials())

    def may_block(self) -> bool:
        """Return whether the next signature waits for credentials, which are loaded or refreshed for it."""
        if not self._credentials.is_created:
            return True
        refresh_needed = getattr(self._credentials(), "refresh_needed", None)
        return refresh_needed is not None and bool(refresh_needed())

    def has_credentials(self) -> bool:
        """Whether the session found credentials."""
        return self._credentials() is not None

    def signed(self, region: str, method: str, url: str, body: bytes | None, headers: Headers) -> Headers:
        """Return *headers* with the signature of the request for *region*."""
        credentials = self._credentials()
        if credentials is None:
            return headers
        request = AWSRequest(method, url, headers=dict(headers), data=body)
        SigV4Auth(credentials.get_frozen_credentials(), self._service, region).add_auth(request)
        return dict(request.headers.items())
