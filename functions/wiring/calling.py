"""Builds the batch APIs, once a process; only the function that calls them imports this module."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from fanin.aws import clients
from fanin.grouper import ByTarget, Downstream
from fanin.grouper.batch_api_calls.http import HttpDownstream
from fanin.grouper.batch_api_calls.secrets import SecretHeaders, SecretUnreadable
from fanin.grouper.settings.endpoints import Endpoint, Secret, Signing
from fanin.grouper.settings.parsing import endpoints_of
from functions.wiring.deployed import settings_file

if TYPE_CHECKING:
    from fanin.aws.signing import Sign


@lru_cache(maxsize=1)
def downstream() -> ByTarget:
    """Return the batch APIs by target; reads the secrets of their headers."""
    endpoints = endpoints_of(settings_file().grouper_downstream)
    return ByTarget([(each.pattern, _downstream(each)) for each in endpoints])


def _downstream(endpoint: Endpoint) -> Downstream:
    if endpoint.function:
        from fanin.grouper.batch_api_calls.invoking import LambdaDownstream  # noqa: PLC0415  # most batch APIs are called by HTTP

        client = clients.functions.within(_region(endpoint.function))
        return LambdaDownstream(client, endpoint.function, endpoint.timeout)
    secret = _headers(endpoint.secret) if endpoint.secret else None
    sign = _sign(endpoint.signing) if endpoint.signing else None
    return HttpDownstream(endpoint.url, endpoint.timeout, secret=secret, sign=sign)


def _headers(secret: Secret) -> SecretHeaders:
    """Return the headers of a secret, already read; a failure is reported by the call that needs them."""
    headers = SecretHeaders(clients.secrets.within(_region(secret.arn)), secret.arn, secret.refresh)
    with suppress(SecretUnreadable):
        headers.headers()
    return headers


def _region(arn: str) -> str:
    """Return the region of *arn*: a service refuses a request for what is in another one."""
    return arn.split(":")[3]


def _sign(signing: Signing) -> Sign:
    from fanin.aws.signing import SigV4  # noqa: PLC0415  # most batch APIs take no signature

    return partial(SigV4(signing.service).signed, signing.region)
